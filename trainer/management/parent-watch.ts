/**
 * Preloaded into the process of a run (`--import`): ends it when the trainer that started it is gone, however it went.
 * The closed channel tells at once; a thread of its own looks every second, since a long computation hears nothing.
 */
import { isMainThread, Worker } from "node:worker_threads";

const WATCH = `
  const { workerData } = require("node:worker_threads");
  setInterval(() => process.ppid !== workerData && process.kill(process.pid, "SIGKILL"), 1000);
`;

if (isMainThread) {
  process.once("disconnect", () => process.exit());
  if (!process.connected) process.exit(1);
  new Worker(WATCH, { eval: true, workerData: process.ppid, execArgv: [], stdout: true, stderr: true }).unref();
}
