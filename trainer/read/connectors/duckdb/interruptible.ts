import type { DuckDBConnection } from "@duckdb/node-api";

/** Time for a statement to stop. Compiling one cannot be interrupted, so the connection is given up after this time. */
const GRACE_MS = 3_000;

/** Connections that still run a statement which did not stop. Closing them would crash the process. */
const stuck = new WeakSet<DuckDBConnection>();
export const isStuck = (connection: DuckDBConnection): boolean => stuck.has(connection);

/** When the signal is aborted, interrupts the connection's statement and throws the reason. Other errors are explained. */
export async function interruptible<Value>(
  connection: DuckDBConnection,
  { signal, explain }: { readonly signal: AbortSignal; readonly explain: (error: unknown) => unknown },
  step: () => Promise<Value>,
): Promise<Value> {
  signal.throwIfAborted();
  const given = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    timer = setTimeout(() => {
      stuck.add(connection);
      given.reject(signal.reason);
    }, GRACE_MS).unref();
  };
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    return await Promise.race([step(), given.promise]);
  } catch (error) {
    throw signal.aborted ? signal.reason : explain(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", interrupt);
  }
}
