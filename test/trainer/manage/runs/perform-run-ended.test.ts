import { afterAll, describe, expect, test } from "vitest";
import { RunRecord } from "../../../../shared/run-record.ts";
import { endedRuns } from "../../../../trainer/manage/records/ended-runs.ts";
import type { StopReason } from "../../../../trainer/manage/runs/run-lease.ts";
import { runsOf } from "../../../fixtures/waiting-run.ts";

const { database, waitingRun } = await runsOf();
afterAll(() => database.close());

describe("a run that has ended is kept", () => {
  const endedOf = async (modelName: string) => await endedRuns(database, { customer: "acme", modelName });
  const read = { interactions: 4, rejected_rows: 0 };

  test("with its stages, what it read, and its version's quality", async () => {
    const { run, perform, modelName } = await waitingRun("progress FETCHING\ndata\nprogress TRAINING\npublish v1");
    const { startedAt } = (await perform()).training;
    const [ended, ...others] = await endedOf(modelName);
    expect(RunRecord.parse(ended)).toMatchObject({
      run_id: run.runId,
      outcome: "published",
      started_at: startedAt,
      read,
    });
    expect(ended).toMatchObject({ attempt: 1, version: "v1", quality: { chosen: { value: 0.2 } }, failure: null });
    expect(ended!.stages.map(({ stage }) => stage)).toEqual(["FETCHING", "TRAINING"]);
    expect(others).toEqual([]);
  });

  test("with the report of a refused version", async () => {
    const { perform, modelName } = await waitingRun("refuse");
    await perform();
    const [ended] = await endedOf(modelName);
    expect(ended).toMatchObject({ outcome: "refused", version: null, failure: { code: "version_refused" } });
    expect(RunRecord.parse(ended).report!.gate!.reasons).toEqual(["worse than popular"]);
    expect(ended!.report).not.toHaveProperty("examples");
  });

  test("with the reports of the gate and of the canary, side by side, while the live version stays", async () => {
    const { perform, modelName } = await waitingRun("canary v2");
    const { version, trainedAt, training } = await perform();
    expect([version, trainedAt !== null, training.state]).toEqual([null, true, "IDLE"]);
    const [ended] = await endedOf(modelName);
    expect(ended).toMatchObject({ outcome: "published", version: "v2", canary: { version: "v2", state: "running" } });
    expect(RunRecord.parse(ended).report!.gate).toBeDefined();
  });

  test("with the failure of its last attempt", async () => {
    const { perform, modelName } = await waitingRun("fail source_down retryable", { password: "down" });
    await perform();
    expect(await endedOf(modelName)).toEqual([]);
    await perform();
    const failure = { code: "source_down", message: "It failed with source_***." };
    expect(await endedOf(modelName)).toMatchObject([
      { outcome: "failed", attempt: 2, failure, read: null, report: null },
    ]);
  });

  test("when it was cancelled, or found too few events", async () => {
    const cancelled = await waitingRun("wait");
    const stop = new AbortController();
    stop.abort("cancelled" satisfies StopReason);
    await cancelled.perform(stop);
    expect(await endedOf(cancelled.modelName)).toMatchObject([{ outcome: "cancelled", failure: null }]);
    const starved = await waitingRun("fail not_enough_events", { listens: true });
    await starved.perform();
    expect(await endedOf(starved.modelName)).toMatchObject([{ outcome: "too_few_events" }]);
  });
});
