import { useSignal } from "@preact/signals";
import type { EvaluationReport, ModelRecord } from "../client/shortlist.ts";
import { count, percent } from "./figures.ts";
import { Interval } from "./interval.tsx";
import { useLoaded } from "./loaded.ts";
import { client } from "./session.ts";
import { Choice, Table, WhenLoaded } from "./widgets.tsx";

type Segment = EvaluationReport["segments"]["users"][number];

type Props = { readonly report: EvaluationReport; readonly model: ModelRecord };

/** How good the lists are for parts of the users and of the items. */
export function Segments({ report: { segments, chosen_by: by }, model }: Props) {
  // Item segments have recall only, with the cut-off of the metric that chose.
  const forItems = `recall@${by.split("@")[1]}`;
  return (
    <section>
      <h2>For whom it works</h2>
      <SegmentTable label="Users" segments={segments.users} by={by} />
      <SegmentTable label="Items" segments={segments.items} by={forItems} />
      <ByAttribute model={model} by={by} forItems={forItems} />
    </section>
  );
}

/** The same for the values of an attribute that one chooses. */
function ByAttribute({ model, by, forItems }: { model: ModelRecord; by: string; forItems: string }) {
  const chosen = useSignal("");
  const { item_attributes: ofItems = [], user_attributes: ofUsers = [] } = model.data ?? {};
  const options = [
    ...ofItems.map(({ name }) => [`item_attribute ${name}`, `${name} of items`] as const),
    ...ofUsers.map(({ name }) => [`user_attribute ${name}`, `${name} of users`] as const),
  ];
  if (options.length === 0) return null;
  return (
    <>
      <Choice
        label="By the values of an attribute"
        value={chosen.value}
        options={[["", "none"], ...options]}
        onChange={(option) => {
          chosen.value = option;
        }}
      />
      {chosen.value && (
        <Answered
          key={chosen.value}
          model={model}
          question={chosen.value}
          by={chosen.value.startsWith("user") ? by : forItems}
        />
      )}
    </>
  );
}

/** `question` is the kind of attribute and its name, separated by the first space. */
function Answered({ model, question, by }: { model: ModelRecord; question: string; by: string }) {
  const [kind, ...words] = question.split(" ");
  const answer = useLoaded(
    (signal) => client.value.evaluate(model.model_name, { [kind!]: words.join(" ") }, { signal }),
    [question, model.version],
  );
  return (
    <WhenLoaded from={answer}>
      {({ segments, further_values: further }) => (
        <>
          <SegmentTable label={words.join(" ")} segments={segments ?? []} by={by} />
          {further > 0 && <p class="quiet">{count(further)} more values are not shown.</p>}
        </>
      )}
    </WhenLoaded>
  );
}

function SegmentTable({ label, segments, by }: { label: string; segments: readonly Segment[]; by: string }) {
  if (segments.length === 0) return null;
  const highs = segments.flatMap(({ chosen, popularity }) => [chosen[by]?.high ?? 0, popularity[by]?.high ?? 0]);
  const most = Math.max(...highs);
  const name = by.toUpperCase();
  return (
    <Table label={`${label} by segment`} head={[label, "Users", `${name}`, `${name} of popularity`, "Places in lists"]}>
      {segments.map((segment) => (
        <tr key={segment.name}>
          <th scope="row">
            {segment.name}
            <div class="quiet">{segment.meaning}</div>
          </th>
          <td>{count(segment.users)}</td>
          <td>{segment.chosen[by] && <Interval mean={segment.chosen[by]} most={most} />}</td>
          <td>{segment.popularity[by] && <Interval mean={segment.popularity[by]} most={most} />}</td>
          <td>{segment.share_shown === null ? "–" : percent(segment.share_shown)}</td>
        </tr>
      ))}
    </Table>
  );
}
