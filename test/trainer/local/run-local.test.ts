import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LocalWorld, runLocal, summaryOf } from "../../../trainer/local/run-local.ts";
import type { StartOptions } from "../../../trainer/local/start-flags.ts";
import { plainTerminal } from "../../../trainer/terminal.ts";

let directory: string;
let written: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "run-local-"));
  written = "";
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const world = (signal = new AbortController().signal): LocalWorld => ({
  ...plainTerminal((line) => {
    written += `${line}\n`;
  }),
  environment: process.env,
  signal,
});
async function options(edgePort: number, header = "user_id,item_id,created_at"): Promise<StartOptions> {
  const interactions = join(directory, "events.csv");
  await writeFile(interactions, `${header}\nu1,i1,1700000000\n`);
  const files = { interactions, items: null, users: null, columns: {} };
  return { files, model: null, edgePort, trainerPort: 0, state: join(directory, "state"), exit: true, simulate: false };
}
async function usedPort(): Promise<{ port: number; close: () => void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

test("a failed start releases the lock on the state folder", async () => {
  const { port, close } = await usedPort();
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(runLocal(await options(port), world())).rejects.toThrow(`Port ${port} cannot be used (EADDRINUSE)`);
  close();
  expect(written).toContain("The columns: user user_id, item item_id, time created_at, no label");
  expect(existsSync(join(directory, "state/temp"))).toBe(false);
});

test("unclear columns end the command before anything is started", async () => {
  await expect(runLocal(await options(0, "a,b,c"), world())).rejects.toThrow("--user-column");
  expect(written).toBe("");
});

test("the summary names the data, each warning and the quality in one sentence each", () => {
  const data = {
    ...{ users: 2, items: 3, interactions: 1200, positives: 900, duplicate_rows: 0, from: null, to: null },
    rejected_rows: { missing_time: 3 },
    item_attributes: [],
    user_attributes: [],
    warnings: ["Rows left out: 3 × missing_time: the time is null, empty or infinite (row 2, 5, 9)"],
  };
  const metrics = { method: "ease", "ndcg@10": 0.25, baseline: { "ndcg@10": 0.2 } };
  const withEvents = summaryOf({ data: { ...data, events: 1300 }, metrics, failure: null });
  expect(withEvents).toContain(
    "Live events that were sent to this state folder: 1,300. All of its models learn from them",
  );
  expect(summaryOf({ data, metrics, failure: null }).split("\n")).toEqual([
    "Trained on 1,200 interactions of 2 users with 3 items.",
    "Rows left out: 3 × missing_time: the time is null, empty or infinite (row 2, 5, 9).",
    "ease: NDCG@10 0.2500, popularity 0.2000, on held-out interactions.",
  ]);
});
