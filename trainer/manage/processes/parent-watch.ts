/**
 * Preloaded into the process of a run (`--import`). Ends the process when the trainer that started it is gone, for whatever
 * reason. The closed channel is the fast way; a thread checks the parent every second, since a long computation receives no
 * events.
 */
import { isMainThread, Worker } from "node:worker_threads";

const WATCH = `
  const { workerData } = require("node:worker_threads");
  setInterval(() => process.ppid !== workerData && process.kill(process.pid, "SIGKILL"), 1000);
`;

/** Time to write the last output. */
const EXIT_DELAY_MS = 500;

if (isMainThread) {
  // A process with nothing left to do ends by itself before this timer, with all its output written.
  process.once("disconnect", () => setTimeout(() => process.exit(), EXIT_DELAY_MS).unref());
  if (!process.connected) process.exit(1);
  new Worker(WATCH, { eval: true, workerData: process.ppid, execArgv: [], stdout: true, stderr: true }).unref();
}
