const PARENT_CHECK_MS = 500;
/** npm repeats a signal to a program that has received it already, as after Ctrl-C. */
const REPEATED_MS = 1000;

/**
 * Calls `stop` once when this process is to end: on SIGINT or SIGTERM, when the process that forked it is gone, or when the npm
 * that runs it is gone. npm hands a signal to its shell only, and most shells end without this process. A later signal exits
 * at once.
 */
export function onStop(stop: (reason: string) => void): void {
  let stoppedMs: number | undefined;
  const begin = (reason: string) => {
    if (stoppedMs !== undefined) return;
    stoppedMs = performance.now();
    stop(reason);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      if (stoppedMs !== undefined && performance.now() - stoppedMs > REPEATED_MS) process.exit(130);
      begin(signal);
    });
  process.once("disconnect", () => begin("the parent process has ended"));
  process.channel?.unref(); // by itself, a listener of the channel would keep the process alive
  const parent = process.ppid;
  const check = () => void (process.ppid !== parent && begin("npm has ended"));
  if (process.env.npm_lifecycle_event !== undefined) setInterval(check, PARENT_CHECK_MS).unref();
}
