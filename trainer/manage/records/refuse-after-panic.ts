import type { PGlite } from "@electric-sql/pglite";

type Call<Arguments extends unknown[], Result> = (...sent: Arguments) => Promise<Result>;

/**
 * Lets an embedded Postgres that has given up (PANIC, such as on a disk without room for its log) refuse every further statement:
 * PGlite would try the next one for ever, and nothing else in this process would run any more, not even its end.
 *
 * @returns Rejects when it has given up; never resolves.
 */
export function refuseAfterPanic(postgres: PGlite): Promise<never> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined); // whoever waits is told; nobody waiting is not a crash
  let givenUp: Error | undefined;
  const guarded =
    <Arguments extends unknown[], Result>(call: Call<Arguments, Result>): Call<Arguments, Result> =>
    async (...sent) => {
      if (givenUp !== undefined) throw givenUp;
      try {
        return await call.apply(postgres, sent);
      } catch (error) {
        if (!isPanic(error)) throw error;
        givenUp = new Error(`The embedded database has given up: ${error.message}.`, { cause: error });
        reject(givenUp);
        throw givenUp;
      }
    };
  postgres.execProtocol = guarded(postgres.execProtocol);
  postgres.execProtocolStream = guarded(postgres.execProtocolStream);
  return failed;
}

const isPanic = (error: unknown): error is Error =>
  error instanceof Error && "severity" in error && error.severity === "PANIC";
