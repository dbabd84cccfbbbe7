import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { prepareRun } from "../../../../trainer/manage/runs/perform-run.ts";
import { readSettings } from "../../../../trainer/settings.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";
import { environmentOf } from "../../../fixtures/trainer-client.ts";
import { aModel } from "../../../fixtures/trainer-model.ts";
import { NO_GRANTS, runsOf } from "../../../fixtures/waiting-run.ts";

const { state, database, waitingRun, isWaiting } = await runsOf();
afterAll(() => database.close());

test("a run that exceeds its disk budget ends and is not retried, and the other customer's run succeeds", async () => {
  const environment = { SHORTLIST_RUN_DISK_BYTES: "20000000", SHORTLIST_DISK_RESERVE_BYTES: "0" };
  const hostile = await waitingRun("fill-disk", { customer: "hostile", environment });
  const other = await waitingRun("publish v1", { environment });
  const [ended, succeeded] = await Promise.all([hostile.perform(), other.perform()]);
  expect(ended).toMatchObject({ status: "ERROR", failure: { code: "disk_budget_exceeded", retryable: false } });
  expect(ended.failure!.message).toContain("more than 20000000 bytes of disk");
  expect(await isWaiting(hostile.run.runId)).toBe(false);
  expect(existsSync(join(state, "runs", hostile.run.runId))).toBe(false);
  expect(succeeded).toMatchObject({ status: "ACTIVE", version: "v1" });
});

const small = smallDisk("8m");
test.skipIf(small === undefined)(
  "while a customer's files take the disk's reserve, runs wait and say why",
  async () => {
    const environment = { SHORTLIST_DISK_RESERVE_BYTES: "4000000", SHORTLIST_STATE_DIR: small! };
    const { run, perform, logs } = await waitingRun("publish v1", { environment });
    const kept = join(small!, "kept-by-another-customer");
    await writeFile(kept, new Uint8Array(5e6));
    for (let attempt = 1; attempt <= 3; attempt++) {
      const failure = {
        code: "disk_reserve_reached",
        message: expect.stringContaining("more than 4000000 free bytes"),
      };
      expect(await perform()).toMatchObject({
        status: "SCHEDULING",
        training: { attempt, state: "SCHEDULED" },
        failure,
      });
      expect(await isWaiting(run.runId)).toBe(true);
    }
    expect(logs.filter(({ level }) => level === "error").map(({ event }) => event)).toEqual(
      Array(3).fill("run_postponed"),
    );
    await rm(kept);
    expect(await perform()).toMatchObject({ status: "ACTIVE", version: "v1", failure: null });
  },
);

test.skipIf(small === undefined)("simultaneous runs share what the disk has free beyond its reserve", async () => {
  const environment = { ...environmentOf(small!), SHORTLIST_DISK_RESERVE_BYTES: "4000000", SHORTLIST_CONCURRENCY: "2" };
  const settings = readSettings(environment);
  const folders = modelFolders(small!);
  const erasure = { salt: "0".repeat(32), dueMs: null };
  const prepared = await prepareRun(
    aModel({}),
    { runId: "run", erasure },
    { settings, folders, store: memoryStore(), grants: NO_GRANTS },
  );
  expect(prepared.disk.bytesMax).toBeGreaterThan(1.5e6);
  expect(prepared.job.settings.diskBytesMax).toBeLessThan(2.2e6);
});
