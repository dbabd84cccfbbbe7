/** Scenarios around a whole training: warnings before it, and what each scenario changes afterwards. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EvaluationReport, type ScenarioAnswer } from "../../../shared/evaluation-report.ts";
import { replayKey, reportKey } from "../../../shared/manifest.ts";
import type { DataSummary } from "../../../shared/model-record.ts";
import { stringAt } from "../../../shared/packed-strings.ts";
import { type Scenario, scenarioKey } from "../../../shared/scenario.ts";
import { evaluationAnswer } from "../../../trainer/manage/http/evaluation-answer.ts";
import { evaluations } from "../../../trainer/manage/questions/evaluations.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
const ITEMS = 40;
const store = memoryStore();
let folder: string;
let version: string;
let summary: DataSummary;
let report: EvaluationReport;

const storeScenario = async (name: string, scenario: Scenario) => {
  const bytes = new TextEncoder().encode(JSON.stringify(scenario));
  await store.putIfAbsent(scenarioKey("acme", "shop", name), bytes, "application/json");
};
const ask = async (body: object, of = version) =>
  (await evaluationAnswer({ ...model, version: of }, body, {
    store,
    evaluations: evaluations(),
    caller: new AbortController().signal,
  })) as ScenarioAnswer;
let scenarios = 0;
/** What a scenario with these fields changes. */
async function effectOf(scenario: Scenario): Promise<ScenarioAnswer> {
  const name = `asked-${scenarios++}`;
  await storeScenario(name, scenario);
  return await ask({ scenario: name });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "train-scenarios-"));
  const data = twoTastes({ users: 300, items: ITEMS, perUser: 9 });
  const idOf = (item: number) => stringAt(data.itemIds, item);
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < data.userCount; user++)
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++)
      rows.push(`u${user},${idOf(data.items[row]!)},${data.times[row]},1`);
  await writeFile(join(folder, "interactions.csv"), rows.join("\n"));
  const items = Array.from({ length: ITEMS }, (_, item) => `${idOf(item)},shelf${item % 4},${item % 2 === 0}`);
  await writeFile(join(folder, "items.csv"), ["item_id,shelf,even", ...items].join("\n"));
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  await storeScenario("fits", { max_per_value: { shelf: 2 } });
  await storeScenario("misses", { retrieval: { brand: "acme" }, max_per_value: { shelf: 2, colour: 1 } });
  const { location, schema } = interactionsCsv();
  const { outcome, data: found } = await trainOnFiles({
    ...{ model, folder, location, store, nowMs: NOW },
    schema: { ...schema, item: { id: "item_id", source: { query: "SELECT * FROM items" } } },
    connector: { memoryMb: 256 },
    settings: { fitSecondsMax: 10, memoryMbMax: 2048 },
  });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  version = outcome.version;
  summary = found!;
  const stored = await store.get(reportKey(model.customer, model.modelName, version));
  report = EvaluationReport.parse(JSON.parse(new TextDecoder().decode(stored!.bytes)));
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

test("training warns about the parts of a scenario that the data do not have", () => {
  const [warning, ...others] = summary.warnings.filter((text) => text.includes("scenario"));
  expect(others).toEqual([]);
  expect(warning).toContain('The scenario "misses"');
  for (const place of ["/retrieval/brand", "/max_per_value/colour"]) expect(warning).toContain(place);
  expect(warning).not.toContain("/max_per_value/shelf");
});

test("without the scenario, the figures are those of the report", async () => {
  const { without, users, left_out, ...rest } = await effectOf({ limit: 20, max_per_value: { shelf: 2 } });
  expect(rest).toMatchObject({ version, limit: 20 });
  expect([users, left_out]).toEqual([report.split.validation.users_measured, []]);
  expect(Object.keys(without).sort()).toEqual(
    [...Object.keys(report.chosen.metrics), ...Object.keys(report.chosen.lists)].sort(),
  );
  for (const [name, { value }] of Object.entries(report.chosen.metrics))
    expect(without[name]!.value, name).toBeCloseTo(value!, 9);
  for (const [name, value] of Object.entries(report.chosen.lists))
    expect(without[name]!.value, name).toBeCloseTo(value!, 9);
});

test("a filter, a cap, a pin, a boost and diversity have the effect that they have on served lists", async () => {
  const filtered = await effectOf({ limit: 20, retrieval: { even: true } });
  expect(filtered.with["coverage@20"]!.value).toBe(0.5);
  expect(filtered.difference["recall@20"]!.high).toBeLessThan(0);
  const ids = await effectOf({ retrieval: { item_id: { $in: ["1003", 1004, "nothing"] } } });
  expect([ids.left_out, ids.with["coverage@15"]!.value]).toEqual([[], 2 / ITEMS]);
  const capped = await effectOf({ limit: 20, max_per_value: { shelf: 1 } });
  expect(capped.with["recall@20"]!.value).toBeLessThan(filtered.with["recall@20"]!.value!); // four items
  const least = await effectOf({ limit: 1, pinned: [String(1000 + ITEMS - 1)] });
  expect(least.without).not.toHaveProperty(["ndcg@5"]);
  expect(least.with["popularity_percentile@1"]!.high).toBeLessThan(least.without["popularity_percentile@1"]!.low!);
  expect(least.with["gini@1"]!.value).toBeGreaterThan(0.9);
  const boosted = await effectOf({ limit: 5, boosts: [{ retrieval: { shelf: "shelf0" }, by: 10 }] });
  expect(boosted.with["coverage@5"]!.value).toBeLessThan(boosted.without["coverage@5"]!.value!);
  const diverse = await effectOf({ limit: 5, diversity: 0.9 });
  expect(diverse.difference["ndcg@5"]!.high).toBeLessThan(0);
  expect(diverse.difference["ndcg@5"]!.value).toBeCloseTo(
    diverse.with["ndcg@5"]!.value! - diverse.without["ndcg@5"]!.value!,
    9,
  );
});

test("the parts that do not fit are named and have no effect", async () => {
  const answer = await ask({ scenario: "misses" });
  expect(answer.left_out).toEqual([
    expect.stringContaining("/retrieval/brand"),
    expect.stringContaining("/max_per_value/colour"),
  ]);
  expect(answer.with).toEqual((await ask({ scenario: "fits" })).with);
});

test.each(["nothing", "a b"])("the scenario %j is unknown", async (scenario) => {
  await expect(ask({ scenario })).rejects.toMatchObject({ code: "scenario_not_found" });
});

test.each([
  ["no replay", undefined, "are not there: train the model again"],
  ["other bytes", Uint8Array.of(1, 2, 3), "not a file of this trainer. train the model again"],
])("a version with %s says so", async (what, bytes, words) => {
  const other = what.replace(" ", "-");
  if (bytes) await store.putIfAbsent(replayKey("acme", "shop", other), bytes, "x");
  await expect(ask({ scenario: "fits" }, other)).rejects.toMatchObject({
    code: "artifact_unavailable",
    message: expect.stringContaining(words),
  });
});
