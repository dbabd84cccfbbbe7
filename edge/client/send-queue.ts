/** Collects what is to be sent, and sends it in few requests. */
import { ShortlistError } from "./shortlist-error.ts";

/** Less than the 64 KiB that a browser still sends for a page that was left. */
const BATCH_BYTES_MAX = 60_000;
const QUEUED_MAX = 10_000;

export type Queue = {
  /** Resolves once all values are stored. */
  add(values: readonly object[]): Promise<void>;
  /** Sends the first waiting values at once. */
  sendBatch(): Promise<void>;
};

type Queued = {
  readonly json: string;
  readonly bytes: number;
  readonly onStored: () => void;
  readonly onFailed: (error: unknown) => void;
};

/**
 * One request is under way at a time, and the next one takes what was passed meanwhile.
 *
 * @param send Sends a list of values, as JSON without brackets.
 * @param countMax The largest number of values in a request.
 */
export function createQueue(
  send: (list: string) => Promise<unknown>,
  { countMax, batchMs }: { readonly countMax: number; readonly batchMs: number },
): Queue {
  const waiting: Queued[] = [];
  let isSending = false;

  const startSending = (afterMs: number) => {
    if (isSending) return;
    isSending = true;
    setTimeout(async () => {
      while (waiting.length > 0) await sendBatch();
      isSending = false;
    }, afterMs);
  };
  const takeBatch = (): Queued[] => {
    let [count, bytes] = [0, 0];
    for (const entry of waiting.slice(0, countMax)) {
      bytes += entry.bytes;
      if (count > 0 && bytes > BATCH_BYTES_MAX) break;
      count++;
    }
    return waiting.splice(0, count);
  };
  const sendBatch = async () => {
    const batch = takeBatch();
    if (batch.length === 0) return;
    try {
      await send(batch.map(({ json }) => json).join());
      for (const { onStored } of batch) onStored();
    } catch (error) {
      const refused = refusedIn(error as ShortlistError);
      for (const [at, { onFailed }] of batch.entries()) if (refused?.has(at) ?? true) onFailed(error);
      // One wrong value refuses its whole request. The others are sent again.
      waiting.unshift(...batch.filter((_, at) => refused && !refused.has(at)));
      if (waiting.length > 0) startSending(0);
    }
  };
  return {
    async add(values) {
      if (waiting.length + values.length > QUEUED_MAX)
        throw new ShortlistError("queue_full", `More than ${QUEUED_MAX} of them wait to be sent.`);
      const stored = values.map((value) => {
        const json = JSON.stringify(value);
        const bytes = new TextEncoder().encode(json).length + 1;
        return new Promise<void>((onStored, onFailed) => waiting.push({ json, bytes, onStored, onFailed }));
      });
      startSending(batchMs);
      await Promise.all(stored);
    },
    sendBatch,
  };
}

/** The indices of the values that a request was refused for; undefined if it failed as a whole. */
function refusedIn({ errors }: ShortlistError): Set<number> | undefined {
  const indices = (errors ?? []).flatMap(({ pointer }) => /^\/(?:events|items)\/(\d+)/.exec(pointer)?.[1] ?? []);
  return indices.length > 0 ? new Set(indices.map(Number)) : undefined;
}
