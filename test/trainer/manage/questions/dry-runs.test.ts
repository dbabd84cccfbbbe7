import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { type DryRun, dryRunInProcess, dryRuns } from "../../../../trainer/manage/questions/dry-runs.ts";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { readSettings } from "../../../../trainer/settings.ts";
import { StageError } from "../../../../trainer/stage/stage-error.ts";
import { type ObjectStore, StoreError } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { environmentOf } from "../../../fixtures/trainer-client.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

describe("dry runs for callers", () => {
  const SPEC = specOf("shop", "select", { connector_configs: [{ type: "Postgres", password: "hunter2" }] });
  const PATIENT = new AbortController().signal;
  const run = (dryRun: DryRun, seconds = 5, caller = PATIENT) =>
    dryRuns(dryRun, { atOnce: 1, seconds }).run(SPEC, "acme", caller);
  const hanging: DryRun = (_spec, _customer, signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

  test("a report contains no secret", async () => {
    expect(await run(async () => ({ sample: [{ a: "hunter2" }] }))).toEqual({ sample: [{ a: "***" }] });
  });

  test("a source that cannot be read is the caller's fault, reported without secrets", async () => {
    const failing = run(async () => {
      throw new StageError("fetching", "login_failed", "password hunter2 was refused");
    });
    await expect(failing).rejects.toMatchObject({
      code: "invalid_parameter",
      message: "password *** was refused",
      extra: { stage_code: "login_failed" },
    });
  });

  test("an internal error stays one", async () => {
    const bug = new TypeError("no");
    await expect(run(() => Promise.reject(bug))).rejects.toBe(bug);
  });

  test("a source that is too slow is reported as such", async () => {
    await expect(run(hanging, 0.05)).rejects.toThrow("did not answer the dry run within 0.05 seconds");
  });

  test("a caller who hangs up ends the dry run, and frees the place", async () => {
    const limited = dryRuns(hanging, { atOnce: 1, seconds: 5 });
    const caller = new AbortController();
    const ended = limited.run(SPEC, "acme", caller.signal);
    caller.abort();
    await expect(ended).rejects.toThrow("The caller did not wait");
    await expect(limited.run(SPEC, "acme", AbortSignal.timeout(10))).rejects.toThrow("The caller did not wait");
  });
});

describe("the process of a dry run", () => {
  const logs: LogEntry[] = [];
  type Options = {
    readonly signal?: AbortSignal;
    readonly store?: ObjectStore;
    readonly connector?: { readonly type: string; readonly project_id: string };
  };
  async function run(query: string, { signal = new AbortController().signal, ...options }: Options = {}) {
    const { store = memoryStore(), connector } = options;
    const state = await freshFolder();
    const settings = readSettings({
      ...environmentOf(state),
      SHORTLIST_FILE_ROOTS: '{"acme": ["/data/acme"]}',
      SHORTLIST_SECRET_ACME__PASSWORD: "of acme",
      SHORTLIST_SECRET_OTHER__PASSWORD: "of other",
    });
    const program = new URL("../../../fixtures/trainer-scripted-dry-run.ts", import.meta.url).pathname;
    const limits = { secondsMax: 30, memoryMbMax: 400, log: (entry: LogEntry) => void logs.push(entry) };
    const grants = { options: () => settings.store, close: async () => undefined };
    const dryRun = dryRunInProcess({ program, settings, store, grants, folders: modelFolders(state), ...limits });
    try {
      const more = connector === undefined ? {} : { connector_configs: [connector] };
      return await dryRun(specOf("shop", query, more), "acme", signal);
    } finally {
      expect(await readdir(join(state, "runs"))).toEqual([]); // every end removes the folder
    }
  }

  test("receives its customer's folders and a limited memory, and returns the report", async () => {
    expect(await run("report")).toMatchObject({
      model_name: "shop",
      customer: "acme",
      fileRoots: ["/data/acme"],
      memoryMb: 512,
    });
  });

  test("sees the secrets of its customer alone", async () => {
    expect(await run("secret SHORTLIST_SECRET_ACME__PASSWORD")).toEqual({ found: "of acme" });
    expect(await run("secret SHORTLIST_SECRET_OTHER__PASSWORD")).toEqual({ found: null });
    expect(await run("secret FORWARD_SECRET")).toEqual({ found: null });
  });

  test.each([
    ["fail login_failed", { code: "login_failed", message: "It failed with login_failed." }],
    ["crash", { code: "dry_run_crashed" }],
    ["junk", { code: "dry_run_crashed" }],
    ["eat", { code: "out_of_memory" }],
  ])("%s is a StageError, and the trainer survives", async (query, failure) => {
    await expect(run(query)).rejects.toMatchObject({ name: "StageError", ...failure });
  });

  test("its output at a crash goes to the operator's log only", async () => {
    logs.length = 0;
    await expect(run("bug")).rejects.toThrow("The source could not be read");
    const [entry] = logs;
    expect(entry).toMatchObject({ event: "dry_run_ended", customer: "acme", code: 1 });
    expect(entry!.output).toContain("An internal error.");
  });

  test("a failing bucket, where the account for BigQuery is looked up, is no unreadable source", async () => {
    const failure = new StoreError("The bucket does not answer.");
    const store = { ...memoryStore(), get: () => Promise.reject(failure) };
    await expect(run("report", { store, connector: { type: "BigQuery", project_id: "p" } })).rejects.toBe(failure);
  });

  test("is ended when it takes too long", async () => {
    await expect(run("wait", { signal: AbortSignal.timeout(500) })).rejects.toThrow(/timeout/);
  });
});
