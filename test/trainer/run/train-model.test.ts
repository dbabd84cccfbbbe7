import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { erasedUsersKey, erasureHash } from "../../../shared/erased-users.ts";
import { type EvaluationAnswer, EvaluationReport } from "../../../shared/evaluation-report.ts";
import type { UserId } from "../../../shared/ids.ts";
import { reportKey } from "../../../shared/manifest.ts";
import { stringAt } from "../../../shared/packed-strings.ts";
import { evaluationAnswer } from "../../../trainer/manage/http/evaluation-answer.ts";
import { evaluations } from "../../../trainer/manage/questions/evaluations.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../../../trainer/store/object-store.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
/** Enough for every candidate, so that a busy machine makes the same choice. */
const AMPLE_SECONDS = 120;
const FEW_SECONDS = 3;
let folder: string;
/** Two runs with the same rows, seed and time, each with its own store. */
let first: Run;
let twin: Run;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "train-model-"));
  await writeFile(join(folder, "interactions.csv"), csvOf(twoTastes({ users: 300, items: 40, perUser: 9 })));
  await writeFile(join(folder, "nothing.csv"), "user_id,item_id,at,label\n");
  first = await run(await newStore(), { fitSecondsMax: AMPLE_SECONDS });
  twin = await run(await newStore(), { fitSecondsMax: AMPLE_SECONDS });
}, 300_000);
afterAll(() => rm(folder, { recursive: true }));

function csvOf(data: ReturnType<typeof twoTastes>): string {
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < data.userCount; user++) {
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++) {
      rows.push(`u${user},${stringAt(data.itemIds, data.items[row]!)},${data.times[row]},1`);
    }
  }
  return rows.join("\n");
}

async function newStore(): Promise<ObjectStore> {
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  return store;
}

type RunOptions = {
  query?: string;
  objective?: object;
  nowMs?: number;
  edgeMemoryBytes?: number;
  fitSecondsMax?: number;
};
type Run = Awaited<ReturnType<typeof run>>;

async function run(
  store: ObjectStore,
  { query, objective, nowMs = NOW, edgeMemoryBytes = 80e6, fitSecondsMax = FEW_SECONDS }: RunOptions = {},
) {
  const stages: string[] = [];
  const trained = await trainOnFiles({
    model,
    folder,
    ...interactionsCsv(query),
    ...(objective && { objective }),
    store,
    nowMs,
    settings: { fitSecondsMax, memoryMbMax: 2048, edgeMemoryBytes, ignoreGate: false },
    connector: { memoryMb: 256 },
    report: { enter: (state) => stages.push(state), progress: () => undefined },
  });
  return { ...trained, stages, store };
}

/** The version that this run has published. */
function versionOf({ outcome }: Run): string {
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  return outcome.version;
}

test("rows become a live version with its report, and each stage is entered once", async () => {
  const { store, outcome, stages, data } = first;
  expect(stages).toEqual(["FETCHING", "TRAINING", "EVALUATING", "DEPLOYING"]);
  expect(data).toMatchObject({ users: 300, items: 40, interactions: 2700, positives: 2700 });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  // The data have two groups with different tastes, so a personalised method must win.
  expect(outcome.metrics.method).not.toBe("popularity");
  expect(outcome.metrics["ndcg@10"]).toBeGreaterThan(outcome.metrics.baseline["ndcg@10"]!);

  const live = (await readLivePointer(store, model))!.pointer;
  expect(live).toMatchObject({ status: "ACTIVE", live: { version: outcome.version } });
  const stored = await store.get(reportKey(model.customer, model.modelName, outcome.version));
  const report = EvaluationReport.parse(JSON.parse(new TextDecoder().decode(stored!.bytes)));
  expect(report.gate?.pass).toBe(true);
  expect(report.refit).not.toBeNull();

  // The ranked lists are stored with the report, and their mean is the reported metric.
  const ref = { ...model, version: outcome.version };
  const question = { user_ids: Array.from({ length: 300 }, (_, user) => `u${user}`) };
  const answer = (await evaluationAnswer(ref, question, {
    store,
    evaluations: evaluations(),
    caller: new AbortController().signal,
  })) as EvaluationAnswer;
  expect(answer.users).toBe(report.split.validation.users_measured);
  expect(answer.chosen["ndcg@10"]!.value).toBeCloseTo(report.chosen.metrics["ndcg@10"]!.value!, 9);
  expect(answer.popularity["recall@20"]!.value).toBeCloseTo(report.popularity.metrics["recall@20"]!.value!, 9);
});

test("the objective decides, and its cut-off is among the figures", async () => {
  const { store, outcome } = await run(await newStore(), { objective: { metric: "recall@7", coverage_min: 0.99 } });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  const stored = await store.get(reportKey(model.customer, model.modelName, outcome.version));
  const report = EvaluationReport.parse(JSON.parse(new TextDecoder().decode(stored!.bytes)));
  expect(report.chosen_by).toBe("recall@7");
  expect(report.candidates[0]!.reason).toMatch(/^recall@7 .*, coverage /);
  expect(report.chosen.metrics["ndcg@10"]!.value).not.toBeNull();
});

test("a version goes live also when its clock is behind the one that named the live version", async () => {
  const store = await newStore();
  const ahead = await run(store, { nowMs: NOW + 86_400_000 });
  const behind = await run(store, { nowMs: NOW });
  expect(versionOf(behind) > versionOf(ahead)).toBe(true);
  expect((await readLivePointer(store, model))!.pointer.live!.version).toBe(versionOf(behind));
});

test("a retrain replaces the live version; a failed one leaves it", async () => {
  const { store } = twin;
  const second = await run(store, { nowMs: NOW + 60_000, fitSecondsMax: AMPLE_SECONDS });
  expect(versionOf(second) > versionOf(twin)).toBe(true);
  const failed = run(store, { query: "SELECT * FROM nothing", nowMs: NOW + 120_000 });
  await expect(failed).rejects.toMatchObject({ name: "StageError" });
  expect((await readLivePointer(store, model))!.pointer.live!.version).toBe(versionOf(second));
});

test("a version too large for an edge is not published, and the live one stays", async () => {
  const { store } = first;
  const options = { nowMs: NOW + 60_000, edgeMemoryBytes: 16 * 2 ** 20 };
  const refused = run(store, options);
  await expect(refused).rejects.toMatchObject({ stage: "deploying", code: "version_too_large" });
  expect((await readLivePointer(store, model))!.pointer.live!.version).toBe(versionOf(first));
});

test("the same rows, seed and time give the same version, byte by byte", () => {
  expect(versionOf(first)).toBe(versionOf(twin));
});

test("an erased user is in no part of the next version; an unreadable list of erased users stops the run", async () => {
  const store = await newStore();
  const salt = "00112233445566778899aabbccddeeff";
  await addErasedUsers(store, model.customer, { salt, hashes: [await erasureHash(salt, "u7" as UserId)] });
  const without = await run(store);
  expect(without.data).toMatchObject({ users: 299, erased_rows: 9, interactions: 2691 });
  expect((await readManifest(store, model, versionOf(without)))!.user_count).toBe(299);

  const get: ObjectStore["get"] = (key, range) =>
    key === erasedUsersKey(model.customer) ? Promise.reject(new StoreError("down")) : store.get(key, range);
  const failed = run({ ...store, get }, { nowMs: NOW + 60_000 });
  await expect(failed).rejects.toMatchObject({ stage: "fetching", code: "store_unavailable" });
});
