import { expect, test } from "vitest";
import { type DryRun, dryRuns } from "../../../trainer/management/dry-runs.ts";
import { StageError } from "../../../trainer/stage-error.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";

const SPEC = specOf("shop", "select", { connector_configs: [{ type: "Postgres", password: "hunter2" }] });
const run = (dryRun: DryRun, seconds = 5) => dryRuns(dryRun, { atOnce: 1, seconds }).run(SPEC, "acme");

test("what it tells has no secret in it", async () => {
  expect(await run(async () => ({ sample: [{ a: "hunter2" }] }))).toEqual({ sample: [{ a: "***" }] });
});

test("a source that cannot be read is the caller's to know, without secrets", async () => {
  const failing = run(async () => {
    throw new StageError("fetching", "login_failed", "password hunter2 was refused");
  });
  await expect(failing).rejects.toMatchObject({
    code: "invalid_parameter",
    message: "password *** was refused",
    extra: { stage_code: "login_failed" },
  });
});

test("a mistake of ours stays one", async () => {
  const mistake = new TypeError("no");
  await expect(run(() => Promise.reject(mistake))).rejects.toBe(mistake);
});

test("a source that does not answer in time is told as such", async () => {
  const hanging: DryRun = (_spec, _customer, signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  await expect(run(hanging, 0.05)).rejects.toThrow("did not answer the dry run within 0.05 seconds");
});

test("one too many is refused, and the next one is not", async () => {
  let finish = () => {};
  const waiting: DryRun = () => new Promise((resolve) => (finish = () => resolve({})));
  const limited = dryRuns(waiting, { atOnce: 1, seconds: 5 });
  const first = limited.run(SPEC, "acme");
  await expect(limited.run(SPEC, "acme")).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 5 });
  finish();
  await first;
  const next = limited.run(SPEC, "acme");
  finish();
  expect(await next).toEqual({});
});
