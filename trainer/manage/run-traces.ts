/** One trace per training run, with a span for each attempt and a span for each stage of it. */
import type { LogEntry } from "../log/log.ts";
import type { FinishedSpan, Traces } from "../log/traces.ts";

type Stages = readonly { readonly stage: string; readonly seconds: number }[];

/** The trace of a run: its id without hyphens, so that the log's `run_id` finds it. */
export const traceIdOf = (runId: string): string => runId.replaceAll("-", "").toLowerCase();

/** Makes the trace of what the trainer logs at the end of an attempt. */
export function runTracer(traces: Pick<Traces, "add">, nowMs: () => number): (entry: LogEntry) => void {
  return (entry) => {
    if (entry.event !== "run_ended") return;
    const { run_id, customer, model_name, attempt, outcome, code, rows, peak_mb } = entry as Readonly<
      Record<string, string | number | undefined>
    >;
    const endMs = nowMs();
    const startMs = endMs - Number(entry.seconds) * 1000;
    const failure = outcome === "failed" ? String(code) : undefined;
    const attributes = defined({ customer, model: model_name, run_id, attempt, outcome, rows, peak_mb });
    const parts = stageSpans((entry.stages ?? []) as Stages, { startMs, endMs, failure });
    traces.add(
      traceIdOf(String(run_id)),
      { name: "training run", startMs, endMs, attributes, ...failed(failure) },
      parts,
    );
  };
}

type Within = { readonly startMs: number; readonly endMs: number; readonly failure: string | undefined };

/** The stages one after another. The attempt fails in its last one. */
function stageSpans(stages: Stages, { startMs, endMs, failure }: Within): FinishedSpan[] {
  // Before the first stage, the process starts.
  let atMs = Math.max(startMs, endMs - 1000 * stages.reduce((sum, { seconds }) => sum + seconds, 0));
  return stages.map(({ stage, seconds }, i) => {
    const isLast = i === stages.length - 1;
    const span = {
      name: stage.toLowerCase(),
      startMs: atMs,
      endMs: isLast ? endMs : Math.min(endMs, atMs + 1000 * seconds),
    };
    atMs = span.endMs;
    return { ...span, ...(isLast && failed(failure)) };
  });
}

const failed = (failure: string | undefined) => (failure === undefined ? {} : { failure });

const defined = (values: Readonly<Record<string, string | number | undefined>>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Record<
    string,
    string | number
  >;
