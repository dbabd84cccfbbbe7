import type { RunRecord } from "../../../shared/run-record.ts";
import type { ProgressMessage } from "./run-child.ts";

export type RunNotes = {
  add(message: ProgressMessage): void;
  /** What is known so far. The stage under way lasts until now. */
  read(): Pick<RunRecord, "stages" | "read">;
};

/**
 * Collects from an attempt's messages what its record shows.
 *
 * @param clock Seconds on a clock that never goes back.
 */
export function runNotes(clock: () => number): RunNotes {
  const begun: { readonly stage: RunRecord["stages"][number]["stage"]; readonly at: number }[] = [];
  let read: RunRecord["read"] = null;
  return {
    add(message) {
      if (message.kind === "progress") {
        if (message.state !== begun.at(-1)?.stage) begun.push({ stage: message.state, at: clock() });
        return;
      }
      const rejected = Object.values(message.data.rejected_rows).reduce((sum, rows) => sum + rows, 0);
      read = { interactions: message.data.interactions, rejected_rows: rejected };
    },
    read() {
      const end = clock();
      const stages = begun.map(({ stage, at }, i) => ({ stage, seconds: tenths((begun[i + 1]?.at ?? end) - at) }));
      return { stages, read };
    },
  };
}

const tenths = (seconds: number) => Math.round(seconds * 10) / 10;
