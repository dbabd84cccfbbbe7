import type { DryRun } from "../client/shortlist.ts";
import { bytes, count, seconds } from "./figures.ts";
import type { Loaded } from "./loaded.ts";
import { Problem, Table } from "./widgets.tsx";

type Query = DryRun["queries"][number];

/** What a dry run has found: faults, columns, samples, cost and time. */
export function DryRunAnswer({ dryRun, isReadable }: { dryRun: Loaded<DryRun | undefined>; isReadable: boolean }) {
  const { value, error, isLoading, reload } = dryRun;
  if (!isReadable)
    return <p class="card">Say where your data are. They are checked while you type, and nothing is created.</p>;
  return (
    <div aria-busy={isLoading}>
      <p role="status" class="quiet">
        {isLoading ? "Checking the source…" : verdictOf(value)}
      </p>
      <Problem error={error} onRetry={reload} />
      {value?.problems.map(({ pointer, severity, message }) => (
        <p key={pointer + message} class={severity === "error" ? "problem" : "warning"}>
          {message} <code>{pointer}</code>
        </p>
      ))}
      {value?.queries.map((query) => (
        <Sample key={query.pointer} query={query} />
      ))}
    </div>
  );
}

function verdictOf(value: DryRun | undefined): string {
  if (value === undefined) return "";
  if (!value.ok) return "Not ready yet.";
  const { predicted_training: predicted } = value;
  return predicted
    ? `Ready. Training on ${count(predicted.rows)} rows takes about ${seconds(predicted.seconds)}.`
    : "Ready to create.";
}

function Sample({
  query: { pointer, columns, sample, estimated_rows, estimated_bytes, estimated_cost_usd },
}: {
  query: Query;
}) {
  const name = pointer.split("/")[2] ?? "";
  const cost = estimated_cost_usd ? `, ${estimated_cost_usd.toFixed(2)} $ a training` : "";
  return (
    <>
      <h3>{`${name[0]?.toUpperCase()}${name.slice(1)}s`}</h3>
      <p class="quiet">
        about {count(estimated_rows)} rows, {bytes(estimated_bytes)}
        {cost}
      </p>
      <Table label={`Sample of ${name}s`} head={columns.map((column) => column.name)}>
        <tr class="quiet">
          {columns.map((column) => (
            <td key={column.name}>{column.type.toLowerCase()}</td>
          ))}
        </tr>
        {sample.map((row, at) => (
          <tr key={at}>
            {columns.map((column) => (
              <td key={column.name}>{String(row[column.name] ?? "")}</td>
            ))}
          </tr>
        ))}
      </Table>
    </>
  );
}
