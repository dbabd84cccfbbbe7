import { expect, test } from "vitest";
import { type DryRun, dryRuns } from "../../../../trainer/manage/questions/dry-runs.ts";
import { StageError } from "../../../../trainer/stage/stage-error.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const SPEC = specOf("shop", "select", { connector_configs: [{ type: "Postgres", password: "hunter2" }] });
const STAYS = new AbortController().signal;
const run = (dryRun: DryRun, seconds = 5, caller = STAYS) =>
  dryRuns(dryRun, { atOnce: 1, seconds }).run(SPEC, "acme", caller);
const hanging: DryRun = (_spec, _customer, signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

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
  await expect(run(hanging, 0.05)).rejects.toThrow("did not answer the dry run within 0.05 seconds");
});

test("a caller who goes away ends it, and the next one may", async () => {
  const limited = dryRuns(hanging, { atOnce: 1, seconds: 5 });
  const caller = new AbortController();
  const left = limited.run(SPEC, "acme", caller.signal);
  caller.abort();
  await expect(left).rejects.toThrow("The caller did not wait");
  await expect(limited.run(SPEC, "acme", AbortSignal.timeout(10))).rejects.toThrow("The caller did not wait");
});

test("a customer's second one, and one too many of all, is refused; the next one is not", async () => {
  const finish: (() => void)[] = [];
  const waiting: DryRun = () => new Promise((resolve) => finish.push(() => resolve({})));
  const limited = dryRuns(waiting, { atOnce: 2, seconds: 5 });
  const start = (customer: string) => limited.run(SPEC, customer, STAYS);
  const first = start("acme");
  await expect(start("acme")).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 5 });
  const second = start("globex");
  await expect(start("initech")).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 5 });
  for (const end of finish.splice(0)) end();
  await Promise.all([first, second]);
  const next = start("acme");
  finish[0]!();
  expect(await next).toEqual({});
});
