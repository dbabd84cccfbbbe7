/**
 * Preloaded into the process of a run (`--import`). Ends the process when the trainer that started it is gone, for whatever
 * reason. The closed channel is the fast way; a thread checks the parent every second, since a long computation receives no
 * events.
 */
import { isMainThread, Worker } from "node:worker_threads";

/** Given by the parent, since it may be gone before this process could find out its id. */
const parent = Number(process.env.SHORTLIST_PARENT_PID);

const WATCH = `
  const { workerData } = require("node:worker_threads");
  setInterval(() => process.ppid !== workerData && process.kill(process.pid, "SIGKILL"), 1000);
`;

/** Time to write the last output. */
const EXIT_DELAY_MS = 500;

if (isMainThread) {
  // A process with nothing left to do ends by itself before this timer, with all its output written.
  process.once("disconnect", () => setTimeout(end, EXIT_DELAY_MS).unref());
  if (!process.connected) end();
  new Worker(WATCH, { eval: true, workerData: parent, execArgv: [], stdout: true, stderr: true }).unref();
}

/** `process.exit` would end the thread that checks, and then wait for a query of the embedded database, perhaps forever. */
function end(): void {
  if (process.ppid === parent) process.exit();
  process.kill(process.pid, "SIGKILL");
}
