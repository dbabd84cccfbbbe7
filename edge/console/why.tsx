import type { EvaluationReport, ModelRecord } from "../client/shortlist.ts";
import { Attribution } from "./attribution.tsx";
import { bytes, count, metric, percent, seconds, settingsOf } from "./figures.ts";
import { FitPlot } from "./fit-plot.tsx";
import { Interval } from "./interval.tsx";
import { ListShape } from "./list-shape.tsx";
import { useLoaded } from "./loaded.ts";
import { Segments } from "./segments.tsx";
import { client } from "./session.ts";
import { Table, WhenLoaded } from "./widgets.tsx";

const SETTINGS_SHOWN = 8;
/** Less is 0 in the four digits of a metric. */
const OPTIMISM_SHOWN = 0.00005;

/** What was chosen and why: the evaluation report of the live version. */
export function WhyPage({ model }: { model: ModelRecord }) {
  const report = useLoaded(
    (signal) => client.value.viewEvaluation(model.model_name, { signal }),
    [model.model_name, model.version],
  );
  return (
    <WhenLoaded from={report}>
      {(loaded) => (
        <>
          <Choice report={loaded} />
          <Candidates report={loaded} />
          <ListShape report={loaded} />
          <Segments report={loaded} model={model} />
          <Attribution report={loaded} model={model} />
          <LeftOut report={loaded} />
        </>
      )}
    </WhenLoaded>
  );
}

function Choice({ report }: { report: EvaluationReport }) {
  const { chosen, chosen_by: by, lift, split, gate, warnings } = report;
  const difference = lift[by];
  const reason = report.candidates.find(({ outcome }) => outcome === "chosen")?.reason;
  return (
    <section class="card">
      <h2>
        {chosen.method} was chosen, by {by.toUpperCase()}
      </h2>
      <p>{reason}.</p>
      <dl class="facts">
        <Fact name={by.toUpperCase()} value={metric(chosen.metrics[by]?.value)} />
        <Fact
          name="More than popularity"
          value={`${metric(difference?.value)} (${metric(difference?.low)} to ${metric(difference?.high)})`}
        />
        <Fact name="Catalog shown" value={coverageOf(chosen.lists, by)} />
        <Fact name="Measured on" value={`${count(split.validation.users_measured)} users`} />
        <Fact name="Time" value={`${seconds(report.seconds.used)} of ${seconds(report.seconds.budget)}`} />
        {report.refit && <Fact name="Size" value={bytes(report.refit.artifact_bytes)} />}
      </dl>
      {Object.keys(chosen.params).length > 0 && <p class="quiet">With {settingsOf(chosen.params)}.</p>}
      <p class="quiet">{split.reason}</p>
      {report.user_attributes && <p class="quiet">{report.user_attributes.reason}</p>}
      {report.choice_optimism !== null && report.choice_optimism >= OPTIMISM_SHOWN && (
        <p class="quiet">
          The best of many candidates looks better than it is, by about {metric(report.choice_optimism)} here.
        </p>
      )}
      {[...(gate?.reasons ?? []), ...warnings].map((text) => (
        <p key={text} class="warning">
          {text}
        </p>
      ))}
    </section>
  );
}

function coverageOf(lists: EvaluationReport["chosen"]["lists"], by: string): string {
  const coverage = lists[`coverage@${by.split("@")[1]}`];
  return coverage == null ? "–" : percent(coverage);
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function Candidates({ report: { candidates, chosen_by: by } }: { report: EvaluationReport }) {
  return (
    <section>
      <h2>Candidates</h2>
      <CandidateTable candidates={candidates} by={by} />
      <FitPlot candidates={candidates} by={by} />
    </section>
  );
}

/** The candidates that were measured, the best first. */
export function CandidateTable({ candidates, by }: { candidates: EvaluationReport["candidates"]; by: string }) {
  const measured = candidates
    .filter(({ metrics }) => metrics[by]?.value != null)
    .sort((a, b) => b.metrics[by]!.value! - a.metrics[by]!.value!);
  const most = Math.max(...measured.map(({ metrics }) => metrics[by]!.high ?? 0));
  return (
    <Table
      label="Candidates"
      head={[
        "Method",
        "Outcome",
        `${by.toUpperCase()} with 95 % interval`,
        "Fitted in",
        "Catalog shown",
        "Users",
        "Why",
      ]}
    >
      {measured.map((candidate, at) => (
        <tr key={at} class={candidate.outcome}>
          <th scope="row">
            {candidate.method}
            <Settings params={candidate.params} />
          </th>
          <td>
            <span class={`badge ${candidate.outcome}`}>{candidate.outcome}</span>
          </td>
          <td>
            <Interval mean={candidate.metrics[by]!} most={most} />
            <UserMeans users={candidate.users} />
          </td>
          <td>{seconds(candidate.fit_seconds)}</td>
          <td>
            {coverageOf(candidate.lists, by)}
            <PopularityOf lists={candidate.lists} by={by} />
          </td>
          <td>{count(candidate.users_measured)}</td>
          <td class="prose">{candidate.reason}</td>
        </tr>
      ))}
    </Table>
  );
}

const GROUPS = ["new", "light", "heavy"] as const;

/** The metric of users without a history, with a short one and with a long one. */
function UserMeans({ users }: Pick<EvaluationReport["candidates"][number], "users">) {
  const shown = GROUPS.filter((name) => users?.[name] != null);
  if (shown.length < 2) return null;
  return <div class="quiet">{shown.map((name) => `${name} ${metric(users![name])}`).join(", ")}</div>;
}

/** How popular the shown items are, if the lists show any. */
function PopularityOf({ lists, by }: { lists: EvaluationReport["chosen"]["lists"]; by: string }) {
  const percentile = lists[`popularity_percentile@${by.split("@")[1]}`];
  return percentile == null ? null : <div class="quiet">popularity {percent(percentile)}</div>;
}

/** The settings of a blend are many, and fill a line only when they are wanted. */
function Settings({ params }: { params: EvaluationReport["chosen"]["params"] }) {
  const text = <div class="quiet">{settingsOf(params)}</div>;
  const size = Object.keys(params).length;
  if (size <= SETTINGS_SHOWN) return text;
  return (
    <details>
      <summary class="quiet">{size} settings</summary>
      {text}
    </details>
  );
}

function LeftOut({ report: { candidates, chosen_by: by } }: { report: EvaluationReport }) {
  const others = candidates.filter(({ metrics }) => metrics[by]?.value == null);
  if (others.length === 0) return null;
  return (
    <details>
      <summary>{count(others.length)} candidates were not measured</summary>
      <Table label="Candidates that were not measured" head={["Method", "Outcome", "Why"]}>
        {others.map(({ method, outcome, reason, params }, at) => (
          <tr key={at}>
            <th scope="row">
              {method}
              <Settings params={params} />
            </th>
            <td>{outcome.replace("_", " ")}</td>
            <td class="prose">{reason}</td>
          </tr>
        ))}
      </Table>
    </details>
  );
}
