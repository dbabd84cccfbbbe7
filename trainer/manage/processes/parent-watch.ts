/**
 * Preloaded into the process of a run (`--import`): ends it when the trainer that started it is gone, however it went.
 * The closed channel tells at once; a thread of its own looks every second, since a long computation hears nothing.
 */
import { isMainThread, Worker } from "node:worker_threads";

const WATCH = `
  const { workerData } = require("node:worker_threads");
  setInterval(() => process.ppid !== workerData && process.kill(process.pid, "SIGKILL"), 1000);
`;

const LAST_WORDS_MS = 500;

if (isMainThread) {
  // What has nothing left to do ends by itself before, and has then written all its output.
  process.once("disconnect", () => setTimeout(() => process.exit(), LAST_WORDS_MS).unref());
  if (!process.connected) process.exit(1);
  new Worker(WATCH, { eval: true, workerData: process.ppid, execArgv: [], stdout: true, stderr: true }).unref();
}
