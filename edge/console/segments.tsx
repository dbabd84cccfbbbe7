import type { EvaluationReport } from "../client/shortlist.ts";
import { count, percent } from "./figures.ts";
import { Interval } from "./interval.tsx";
import { Table } from "./widgets.tsx";

type Segment = EvaluationReport["segments"]["users"][number];

/** How good the lists are for parts of the users and of the items. */
export function Segments({ report: { segments, chosen_by: by } }: { report: EvaluationReport }) {
  // Item segments have recall only, with the cut-off of the metric that chose.
  const forItems = `recall@${by.split("@")[1]}`;
  return (
    <section>
      <h2>For whom it works</h2>
      <SegmentTable label="Users" segments={segments.users} by={by} />
      <SegmentTable label="Items" segments={segments.items} by={forItems} />
    </section>
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
