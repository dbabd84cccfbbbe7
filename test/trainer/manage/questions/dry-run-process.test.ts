import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { dryRunInProcess } from "../../../../trainer/manage/questions/dry-run-process.ts";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { readSettings } from "../../../../trainer/settings.ts";
import { StoreError } from "../../../../trainer/store/object-store.ts";
import { environmentOf } from "../../../fixtures/trainer-client.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

const logs: LogEntry[] = [];
async function run(query: string, signal = new AbortController().signal) {
  const state = await freshFolder();
  const settings = readSettings({
    ...environmentOf(state),
    SHORTLIST_FILE_ROOTS: '{"acme": ["/data/acme"]}',
    SHORTLIST_SECRET_ACME__PASSWORD: "of acme",
    SHORTLIST_SECRET_OTHER__PASSWORD: "of other",
  });
  const program = new URL("../../../fixtures/trainer-scripted-dry-run.ts", import.meta.url).pathname;
  const limits = { secondsMax: 30, memoryMbMax: 400, log: (entry: LogEntry) => void logs.push(entry) };
  const dryRun = dryRunInProcess({ program, settings, folders: modelFolders(state), ...limits });
  try {
    return await dryRun(specOf("shop", query), "acme", signal);
  } finally {
    expect(await readdir(join(state, "runs"))).toEqual([]); // nothing is left, however it went
  }
}

test("the report comes back; the process had its customer's folders and a bounded memory", async () => {
  expect(await run("report")).toMatchObject({
    model_name: "shop",
    customer: "acme",
    fileRoots: ["/data/acme"],
    memoryMb: 512,
  });
});

test("of the secrets it had its customer's alone", async () => {
  expect(await run("secret SHORTLIST_SECRET_ACME__PASSWORD")).toEqual({ found: "of acme" });
  expect(await run("secret SHORTLIST_SECRET_OTHER__PASSWORD")).toEqual({ found: null });
  expect(await run("secret FORWARD_SECRET")).toEqual({ found: null });
});

test.each([
  ["fail login_failed", { code: "login_failed", message: "It failed with login_failed." }],
  ["crash", { code: "dry_run_crashed" }],
  ["junk", { code: "dry_run_crashed" }],
  ["eat", { code: "out_of_memory" }],
])("%s is a failure of its stage, and the trainer lives", async (query, failure) => {
  await expect(run(query)).rejects.toMatchObject({ name: "StageError", ...failure });
});

test("what the process said when it crashed is the operator's to know", async () => {
  logs.length = 0;
  await expect(run("mistake")).rejects.toThrow("The source could not be read");
  const [entry] = logs;
  expect(entry).toMatchObject({ event: "dry_run_ended", customer: "acme", code: 1 });
  expect(entry!.output).toContain("A mistake of ours.");
});

test("a bucket that fails is not called a source that cannot be read", async () => {
  await expect(run("unavailable")).rejects.toThrow(new StoreError("The bucket does not answer."));
});

test("it is ended when it takes too long", async () => {
  await expect(run("wait", AbortSignal.timeout(500))).rejects.toThrow(/timeout/);
});
