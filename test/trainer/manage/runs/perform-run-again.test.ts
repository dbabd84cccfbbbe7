import { afterAll, expect, test } from "vitest";
import { runsOf } from "../../../fixtures/waiting-run.ts";

const { database, waitingRun } = await runsOf();
afterAll(() => database.close());

const environment = { SHORTLIST_RUN_MEMORY_MB: "256" };

test("a run that exceeds its memory begins again without the method that it was trying", async () => {
  const script = "progress TRAINING\ntrying small\ntrying large\nunless large eat\npublish v1";
  const { perform, logs } = await waitingRun(script, { environment });
  expect(await perform()).toMatchObject({ status: "ACTIVE", version: "v1", training: { attempt: 1 } });
  expect(logs.filter(({ event }) => event === "run_repeated")).toMatchObject([{ without: ["large"] }]);
});

test("a run whose data alone exceed its memory fails", async () => {
  const { perform, logs } = await waitingRun("progress TRAINING\ntrying large\ntrying\neat", { environment });
  expect(await perform()).toMatchObject({ status: "ERROR", failure: { code: "out_of_memory" } });
  expect(logs.some(({ event }) => event === "run_repeated")).toBe(false);
});

test("a run that exceeds its memory with every method fails in the end", async () => {
  const eaters = ["a", "b", "c", "d"].map((method) => `trying ${method}\nunless ${method} eat`);
  const { perform, logs } = await waitingRun(["progress TRAINING", ...eaters].join("\n"), { environment });
  expect(await perform()).toMatchObject({ status: "ERROR", failure: { code: "out_of_memory" } });
  const repeated = logs.filter(({ event }) => event === "run_repeated");
  expect(repeated.at(-1)).toMatchObject({ without: ["a", "b", "c"] });
  expect(repeated.length).toBe(3);
});
