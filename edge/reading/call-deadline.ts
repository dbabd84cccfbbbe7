import type { ArtifactReader } from "./artifact-reader.ts";
import { DeadlineError } from "./deadline.ts";

/** The end of one call, for which nothing is done while it reads nothing. */
export type CallDeadline = {
  readonly untilMs: number;
  /** The same reader. With its first read the clock is set. */
  readonly reader: ArtifactReader;
  /** The value of `work`, or DeadlineError at the end. The work itself goes on, and others may have what it reads. */
  before<T>(work: Promise<T>): Promise<T>;
};

/**
 * Each read has a deadline, but a call may need several, one after another. A timer takes longer than all else that is done
 * for a call that finds everything in memory, so there is one only for a call that reads.
 */
export function callDeadline(reader: ArtifactReader, untilMs: number, nowMs: () => number): CallDeadline {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const setClock = () => {
    timer ??= setTimeout(() => reject(new DeadlineError("the call took too long")), Math.max(0, untilMs - nowMs()));
  };
  return {
    untilMs,
    reader: {
      ...reader,
      json: (key, schema) => {
        setClock();
        return reader.json(key, schema);
      },
      changed: (key, known) => {
        setClock();
        return reader.changed(key, known);
      },
      range: (key, range) => {
        setClock();
        return reader.range(key, range);
      },
    },
    async before(work) {
      try {
        return await Promise.race([work, late]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
