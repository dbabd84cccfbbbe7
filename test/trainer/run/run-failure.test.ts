import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createSpool } from "../../../trainer/read/spool/user-spool.ts";
import { runFailure } from "../../../trainer/run/run-failure.ts";
import { StageError } from "../../../trainer/stage/stage-error.ts";
import { StoreError } from "../../../trainer/store/object-store.ts";

test("a StageError keeps its message and names its own stage", () => {
  const error = new StageError("checking", "no_positives", "No rating reaches 4");
  const failure = { stage: "checking", code: "no_positives", message: "No rating reaches 4", retryable: false };
  expect(runFailure(error, "training")).toEqual(failure);
});

test.each([true, false])("an error of the object store is store_unavailable, retryable: %s", (retryable) => {
  const message = "customers/acme.json is not what it should be";
  const failure = { stage: "fetching", code: "store_unavailable", message, retryable };
  expect(runFailure(new StoreError(message, { retryable }), "fetching")).toEqual(failure);
});

test.skipIf(!existsSync("/dev/full"))("a full disk is work_disk_full, whichever file was being written", async () => {
  const spool = await createSpool("/dev/full");
  await spool.add({ high: 1, low: 1 }, { items: [], times: [], seen: [] });
  for (const write of [spool.end, () => writeFile("/dev/full", "user records")]) {
    const error = await write().catch((cause: unknown) => cause);
    expect(runFailure(error, "deploying")).toMatchObject({ code: "work_disk_full", retryable: false });
  }
  await spool.close();
});

test("an internal error does not show its message to the customer", () => {
  const failure = runFailure(new TypeError("hunter2 is undefined"), "training");
  expect(failure).toMatchObject({ stage: "training", code: "internal", retryable: true });
  expect(failure.message).not.toContain("hunter2");
});
