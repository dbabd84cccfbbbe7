/** One deadline over several reads of the bucket: for a rank call, and for the load of a version. */
import type { Descriptor } from "../../shared/manifest.ts";
import { type ArtifactReader, ReadError, wholeOf } from "./artifact-reader.ts";
import { DeadlineError, within } from "./deadline.ts";

/** The deadline of one rank call. It costs nothing for a call that reads nothing. */
export type CallDeadline = {
  readonly untilMs: number;
  /** The same reader. Its first read starts the timer. */
  readonly reader: ArtifactReader;
  /** The value of `work`, or DeadlineError at the deadline. The work itself goes on, since others may use what it reads. */
  before<T>(work: Promise<T>): Promise<T>;
};

/**
 * Every read has a deadline of its own, but a call may need several reads, one after another. Setting a timer takes longer than all other
 * work of a call that finds everything in memory, so the timer is only set once the call reads.
 */
export function callDeadline(reader: ArtifactReader, untilMs: number, nowMs: () => number): CallDeadline {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const startTimer = () => {
    timer ??= setTimeout(() => reject(new DeadlineError("the call took too long")), Math.max(0, untilMs - nowMs()));
  };
  return {
    untilMs,
    reader: {
      ...reader,
      json: (key, schema) => {
        startTimer();
        return reader.json(key, schema);
      },
      changed: (key, known) => {
        startTimer();
        return reader.changed(key, known);
      },
      range: (key, range, open) => {
        startTimer();
        return reader.range(key, range, open);
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

/** Reads whole files. */
export type FileReader = Pick<ArtifactReader, "file" | "pieces">;

/**
 * A reader that works until `endMs`. Then the current read fails, and nothing is read beyond what was read ahead. The deadlines of single
 * reads are not enough: many slow reads could each meet theirs. Throws ReadError, FormatError.
 */
export function readerWithDeadline(reader: FileReader, endMs: number, nowMs: () => number): FileReader {
  async function* pieces(key: string, descriptor: Descriptor) {
    const source = reader.pieces(key, descriptor)[Symbol.asyncIterator]();
    const next = async () => {
      const leftMs = endMs - nowMs();
      if (leftMs <= 0) throw lateError(key);
      return await within(leftMs, `reading ${key}`, source.next());
    };
    try {
      for (let piece = await next(); !piece.done; piece = await next()) yield piece.value;
    } catch (error) {
      throw error instanceof DeadlineError ? lateError(key, error) : error;
    } finally {
      source.return?.().catch(() => undefined); // not awaited: it waits for the current read
    }
  }
  return {
    pieces,
    file: (key, descriptor) => wholeOf(descriptor.size, pieces(key, descriptor)),
  };
}

const lateError = (key: string, cause?: unknown) => new ReadError(`${key}: the time for reading is over`, { cause });
