import type { RunList } from "../client/shortlist.ts";
import { count } from "./figures.ts";
import { Interval } from "./interval.tsx";
import { CandidateTable } from "./why.tsx";
import { Table } from "./widgets.tsx";

type Report = NonNullable<RunList["runs"][number]["report"]>;

/** Why the gate refused a version, and its figures beside those of popularity and of the live version's method. */
export function RefusedReport({ report }: { report: Report }) {
  const { chosen, popularity, live, gate, chosen_by: by, split } = report;
  const rows = [
    [`${chosen.method}, refused`, chosen.metrics[by]],
    ["popularity", popularity.metrics[by]],
    ...(live ? [[`${live.method}, as the live version`, live.metrics[by]] as const] : []),
  ] as const;
  const most = Math.max(...rows.map(([, mean]) => mean?.high ?? 0));
  return (
    <details>
      <summary>Report of the refused version</summary>
      <Table label="The refused version beside others" head={["Method", `${by.toUpperCase()} with 95 % interval`]}>
        {rows.map(([method, mean]) => (
          <tr key={method}>
            <th scope="row">{method}</th>
            <td>{mean ? <Interval mean={mean} most={most} /> : "–"}</td>
          </tr>
        ))}
      </Table>
      <p class="quiet">
        Measured on {count(split.validation.users_measured)} users. {split.reason}
      </p>
      {[...(gate?.notes ?? []), ...report.warnings].map((text) => (
        <p key={text} class="quiet">
          {text}
        </p>
      ))}
      <CandidateTable candidates={report.candidates} by={by} />
    </details>
  );
}
