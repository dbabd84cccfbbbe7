import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createSpool } from "../../../trainer/read/spool/user-spool.ts";
import { runFailure } from "../../../trainer/run/run-failure.ts";
import { StageError } from "../../../trainer/stage/stage-error.ts";
import { StoreError } from "../../../trainer/store/object-store.ts";

test("a stage's own words are told, with the stage that said them", () => {
  const error = new StageError("checking", "no_positives", "No rating reaches 4");
  const told = { stage: "checking", code: "no_positives", message: "No rating reaches 4", retryable: false };
  expect(runFailure(error, "training")).toEqual(told);
});

test.each([true, false])("what the store says is its own kind of failure, which may pass: %s", (retryable) => {
  const message = "customers/acme.json is not what it should be";
  const told = { stage: "fetching", code: "store_unavailable", message, retryable };
  expect(runFailure(new StoreError(message, { retryable }), "fetching")).toEqual(told);
});

test.skipIf(!existsSync("/dev/full"))("a full disk is told as such, whichever file was being written", async () => {
  const spool = await createSpool("/dev/full");
  await spool.add({ high: 1, low: 1 }, { items: [], times: [], seen: [] });
  for (const write of [spool.end, () => writeFile("/dev/full", "user records")]) {
    const error = await write().catch((cause: unknown) => cause);
    expect(runFailure(error, "deploying")).toMatchObject({ code: "work_disk_full", retryable: true });
  }
  await spool.close();
});

test("of a mistake of ours nothing is told but that it was one", () => {
  const failure = runFailure(new TypeError("hunter2 is undefined"), "training");
  expect(failure).toMatchObject({ stage: "training", code: "internal", retryable: true });
  expect(failure.message).not.toContain("hunter2");
});
