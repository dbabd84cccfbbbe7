import type { EvaluationReport, ModelRecord } from "../client/shortlist.ts";
import { count, percent } from "./figures.ts";
import { Interval } from "./interval.tsx";
import { Table } from "./widgets.tsx";

/** What the lists of each version led to. Only models that listen to events have it. */
export function Attribution({ report, model }: { report: EvaluationReport; model: ModelRecord }) {
  if (!model.input_schema.interaction.events) return null;
  return (
    <section>
      <h2>What lists led to</h2>
      {report.attribution?.length ? (
        <AttributionTable versions={report.attribution} live={model.version} />
      ) : (
        <p class="quiet">
          Not known. Send an event for each list that was shown, with its rank_id and of a type with seen: false, such
          as impression. The next training then counts what the lists of each version led to.
        </p>
      )}
    </section>
  );
}

type AttributionTableProps = {
  readonly versions: NonNullable<EvaluationReport["attribution"]>;
  readonly live: string | null;
};

function AttributionTable({ versions, live }: AttributionTableProps) {
  const types = [...new Set(versions.flatMap(({ events }) => Object.keys(events)))].sort();
  const most = Math.max(...versions.flatMap(({ events }) => Object.values(events).map(({ high }) => high)));
  return (
    <>
      <p class="quiet">
        Share of the lists shown that led to an event of each type, with its 95 % interval. Counted when the live
        version was trained.
      </p>
      <Table label="What lists led to" head={["Version", "Lists shown", ...types]}>
        {versions.toReversed().map(({ version, lists, events }) => (
          <tr key={version}>
            <th scope="row">
              <code>{version}</code> {version === live && <span class="badge active">live</span>}
            </th>
            <td>{count(lists)}</td>
            {types.map((type) => {
              const led = events[type];
              return (
                <td key={type}>
                  {led ? <Interval mean={{ ...led, value: led.share }} most={most} show={tenths} /> : "–"}
                </td>
              );
            })}
          </tr>
        ))}
      </Table>
    </>
  );
}

const tenths = (share: number | null) => (share === null ? "–" : percent(share, 1));
