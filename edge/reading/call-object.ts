import { sleep, within } from "./waiting.ts";

/** A binding of Durable Objects. */
export type ObjectNamespace<Rpc> = { getByName(name: string): Rpc };

export type ObjectCall<Rpc, T> = {
  readonly call: (object: Rpc) => Promise<T>;
  readonly untilMs: number;
  readonly nowMs: () => number;
};

type Called = {
  readonly name: string;
  /** What the object is, for errors. */
  readonly what: string;
  /** The error that is thrown if the object does not answer in time. */
  readonly Failure: new (
    message: string,
    options: ErrorOptions,
  ) => Error;
};

const PAUSE_MS = 20;

/** Calls a Durable Object, and repeats a call that fails until the deadline: a deployment restarts all objects. Throws a Failure. */
export async function callObject<Rpc, T>(
  namespace: ObjectNamespace<Rpc>,
  { name, what, Failure }: Called,
  { call, untilMs, nowMs }: ObjectCall<Rpc, T>,
): Promise<T> {
  for (let pauseMs = PAUSE_MS; ; pauseMs *= 2) {
    try {
      return await within(Math.max(1, untilMs - nowMs()), what, call(namespace.getByName(name)));
    } catch (cause) {
      const isOverloaded = (cause as { readonly overloaded?: boolean }).overloaded === true;
      if (isOverloaded || nowMs() + pauseMs >= untilMs) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Failure(`${what} does not answer: ${reason}`, { cause });
      }
      await sleep(pauseMs);
    }
  }
}
