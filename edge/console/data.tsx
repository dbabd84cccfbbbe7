import type { ModelRecord } from "../client/shortlist.ts";
import { Days } from "./days.tsx";
import { ago, count, percent } from "./figures.ts";
import { modelPath } from "./session.ts";
import { Code, Table } from "./widgets.tsx";

type Data = NonNullable<ModelRecord["data"]>;

/** What the last training has read, and what it has left out. */
export function DataPage({ model }: { model: ModelRecord }) {
  const { data, input_schema: schema, connectors, train_schedule } = model;
  return (
    <>
      {data === null ? <p class="card">No data have been read yet.</p> : <Read data={data} />}
      <section>
        <h2>Where it comes from</h2>
        <p>
          <a href={`#${modelPath(model.model_name, "change")}`}>Change it</a>, or when it is read.
        </p>
        <Code label="Specification" text={JSON.stringify({ connectors, schema, train_schedule }, null, 2)} />
      </section>
    </>
  );
}

function Read({ data }: { data: Data }) {
  const rejected = Object.entries(data.rejected_rows);
  return (
    <>
      <section class="card">
        <h2>Data of the last training</h2>
        <dl class="facts">
          {(
            [
              ["Users", count(data.users)],
              ["Items", count(data.items)],
              ["Interactions", count(data.interactions)],
              ["Positive", percent(data.positives / Math.max(1, data.interactions))],
              ["Newest", ago(data.to)],
              ["Duplicates", count(data.duplicate_rows)],
              ["Events", count(data.events)],
            ] as const
          ).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {data.warnings.map((text) => (
          <p key={text} class="warning">
            {text}
          </p>
        ))}
      </section>
      {data.recent_days && <Days {...data.recent_days} />}
      <section>
        <h2>Rejected rows</h2>
        {rejected.length === 0 ? (
          <p>None: every row could be used.</p>
        ) : (
          <Table label="Rejected rows" head={["Reason", "Rows"]}>
            {rejected.map(([reason, rows]) => (
              <tr key={reason}>
                <th scope="row">{reason.replaceAll("_", " ")}</th>
                <td>{count(rows)}</td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      <Attributes title="Attributes of items" of={data.item_attributes} total={data.items} />
      <Attributes title="Attributes of users" of={data.user_attributes} total={data.users} />
    </>
  );
}

function Attributes({ title, of, total }: { title: string; of: Data["item_attributes"]; total: number }) {
  if (of.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <Table label={title} head={["Name", "Type", "Present", "Different values"]}>
        {of.map(({ name, type, inferred, present, distinct }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              {type} {inferred && <span class="quiet">guessed</span>}
            </td>
            <td>{percent(Math.min(1, present / Math.max(1, total)))}</td>
            <td>{count(distinct)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
