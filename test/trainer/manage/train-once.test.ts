import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { trainOnce } from "../../../trainer/manage/train-once.ts";
import { type HarnessOptions, scriptedParts, startHarness } from "../../fixtures/trainer-harness.ts";
import { freshFolder, freshState } from "../../fixtures/trainer-state.ts";

const DAY_MS = 86_400_000;
let state: string;
beforeEach(async () => {
  state = await freshState();
});

/** Works once on what waits in the state folder. */
async function once(
  only = {},
  { signal = new AbortController().signal, ...options }: HarnessOptions & { signal?: AbortSignal } = {},
) {
  const parts = scriptedParts(state, options);
  const result = await trainOnce(parts, only, signal);
  const started = parts.logs.filter(({ event }) => event === "run_started").map((entry) => entry.model_name);
  return { ...result, started: started.sort() };
}

/** Lets a trainer create these models and stop before any of their runs has ended. */
async function waitingRuns(...models: readonly (readonly [customer: string, name: string, script: string])[]) {
  const witness = join(await freshFolder(), "started");
  const trainer = await startHarness({ stateDirectory: state, environment: { SHORTLIST_CONCURRENCY: "1" } });
  await trainer.create("busy", `first ${witness} wait\npublish v1`);
  await expect.poll(() => existsSync(witness)).toBe(true);
  for (const [customer, name, script] of models)
    expect((await trainer.create(name, script, { customer, schedule: "@daily" })).status).toBe(201);
  await trainer.stop();
}

test("waiting runs are performed, those of one customer or model first if asked, and failures are named", async () => {
  await waitingRuns(
    ["acme", "bad", "fail broken"],
    ["acme", "flaky", "fail away retryable"],
    ["globex", "shop", "publish v1"],
  );
  expect(await once({ model: "flaky" })).toEqual({ runs: 1, failed: ["acme/flaky"], started: ["flaky"] });
  const { failed, ...result } = await once({ customer: "acme" });
  expect(result).toEqual({ runs: 3, started: ["bad", "busy", "flaky"] });
  expect([...failed].sort()).toEqual(["acme/bad", "acme/flaky"]);
  expect(await once({ customer: "globex" })).toEqual({ runs: 1, failed: [], started: ["shop"] });
});

test("a run that is due is scheduled and performed, and nothing is left to do afterwards", async () => {
  await waitingRuns(["acme", "shop", "publish v1"]);
  expect(await once()).toEqual({ runs: 2, failed: [], started: ["busy", "shop"] });
  const nowMs = () => Date.now() + DAY_MS;
  expect(await once({}, { nowMs })).toEqual({ runs: 1, failed: [], started: ["shop"] });
  expect(await once({}, { nowMs })).toEqual({ runs: 0, failed: [], started: [] });
});

test("a run that is stopped waits for the next trainer", async () => {
  const witness = join(await freshFolder(), "started");
  await waitingRuns(["acme", "shop", `first ${witness} wait\npublish v1`]);
  const stop = new AbortController();
  const stopped = trainOnce(scriptedParts(state), { model: "shop" }, stop.signal);
  await expect.poll(() => existsSync(witness)).toBe(true);
  stop.abort();
  expect(await stopped).toEqual({ runs: 1, failed: [] });
  expect(await once()).toEqual({ runs: 2, failed: [], started: ["busy", "shop"] });
});
