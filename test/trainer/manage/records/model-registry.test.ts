import { afterAll, beforeAll, expect, test } from "vitest";
import { ModelSpec } from "../../../../shared/model-spec.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { type ModelRegistry, modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import type { Model } from "../../../../trainer/manage/records/model-transitions.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

const METRICS = { method: "popular", baseline: {} };
let nowMs = Date.parse("2026-01-01T00:00:00Z");
let database: Database;
let registry: ModelRegistry;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
  registry = modelRegistry(database, () => nowMs++);
});
afterAll(() => database.close());

const insert = (customer: string, name: string, nextRunAt: string | null = null) =>
  registry.insert(database, { customer, spec: specOf(name, "wait"), nextRunAt });
const published = (runId: string, version: string) => ({
  kind: "published" as const,
  runId,
  attempt: 1,
  version,
  itemIdType: "integer" as const,
  metrics: METRICS,
});
async function publish(customer: string, name: string, runId: string, version: string) {
  await registry.apply(customer, name, { kind: "scheduled", runId });
  await registry.apply(customer, name, { kind: "started", runId, attempt: 1 });
  return await registry.apply(customer, name, published(runId, version));
}

test("a model is found as it was inserted, by its customer only", async () => {
  const model = await insert("acme", "one");
  expect(await registry.find("acme", "one")).toEqual(model);
  expect(await registry.find("other", "one")).toBe(undefined);
  expect(await insert("acme", "one")).toBe(undefined);
  expect(await insert("other", "one")).toBeDefined();
});

test("a stored model that the present schema would refuse can still be read", async () => {
  const spec = specOf("earlier", "wait");
  const features = ["a", "a", "item_id"].map((name) => ({ name, type: "Text" as const }));
  const earlier = { ...spec, schema: { ...spec.schema, item: { id: "user_id", features } } };
  expect(ModelSpec.safeParse(earlier).success).toBe(false);
  await registry.insert(database, { customer: "acme", spec: earlier, nextRunAt: null });
  expect((await registry.find("acme", "earlier"))?.spec).toEqual(earlier);
  await registry.apply("acme", "earlier", { kind: "scheduled", runId: "run-of-earlier" });
  expect((await registry.find("acme", "earlier"))?.spec).toEqual(earlier);
});

test("simultaneous changes are all applied, one after the other", async () => {
  await insert("acme", "busy");
  await registry.apply("acme", "busy", { kind: "scheduled", runId: "r" });
  await registry.apply("acme", "busy", { kind: "started", runId: "r", attempt: 1 });
  const next = (i: number) => new Date(Date.UTC(2026, 5, i + 1)).toISOString();
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => registry.apply("acme", "busy", { kind: "due", nextRunAt: next(i) })),
  );
  expect((await registry.find("acme", "busy"))!.revision).toBe(11);
});

test("an event that does not apply changes nothing", async () => {
  await insert("acme", "quiet");
  const before = await registry.find("acme", "quiet");
  expect(await registry.apply("acme", "quiet", published("r", "v1"))).toBe(undefined);
  expect(await registry.find("acme", "quiet")).toEqual(before);
  expect(await registry.apply("acme", "absent", { kind: "destroying" })).toBe(undefined);
});

test("a list continues after a name, and shows one customer and one status", async () => {
  for (const name of ["c", "a", "b", "B"]) await insert("lister", name);
  await registry.apply("lister", "b", { kind: "destroying" });
  const options = { limit: 2, afterName: undefined, status: undefined };
  const first = await registry.list("lister", options);
  const second = await registry.list("lister", { ...options, afterName: first.nextName });
  const names = [...first.models, ...second.models].map(({ modelName }) => modelName);
  expect([...names].sort()).toEqual(["B", "a", "b", "c"]);
  expect(first.models).toHaveLength(2);
  expect(second.nextName).toBe(undefined);
  const destroying = await registry.list("lister", { ...options, status: "DESTROYING" });
  expect(destroying.models.map(({ modelName }) => modelName)).toEqual(["b"]);
  expect(await registry.list("nobody", options)).toEqual({ models: [], nextName: undefined });
});

test("models that need a run, and models that are to be removed", async () => {
  for (const name of ["due", "later", "changed", "gone", "idle"]) await insert("pending", name);
  await registry.apply("pending", "due", { kind: "due", nextRunAt: "2026-01-01T00:00:00.000Z" });
  await registry.apply("pending", "later", { kind: "due", nextRunAt: "2030-01-01T00:00:00.000Z" });
  for (const name of ["changed", "idle"]) await publish("pending", name, `run-${name}`, "v1");
  const { spec } = (await registry.find("pending", "changed"))!;
  await registry.apply("pending", "changed", { kind: "changed", from: spec, spec, retrain: true, nextRunAt: null });
  await registry.apply("pending", "gone", { kind: "destroying" });
  const namesOf = (models: readonly Model[]) =>
    models.filter(({ customer }) => customer === "pending").map(({ modelName }) => modelName);
  expect(namesOf(await registry.due("2026-06-01T00:00:00.000Z", 100, 100)).sort()).toEqual(["changed", "due"]);
  expect(namesOf(await registry.destroying(100))).toEqual(["gone"]);
});

test("only a model that is being deleted can be removed, with its runs", async () => {
  await insert("acme", "removed");
  const model = await publish("acme", "removed", "run-removed", "v1");
  await expect(registry.remove(model!)).rejects.toThrow("only when it is being deleted");
  await registry.apply("acme", "removed", { kind: "destroying" });
  await registry.remove({ ...model!, createdAt: "2020-01-01T00:00:00.000Z" });
  expect(await registry.find("acme", "removed")).toBeDefined();
  await registry.remove(model!);
  await registry.remove(model!);
  expect(await registry.find("acme", "removed")).toBe(undefined);
  expect(await registry.names()).toContainEqual({ customer: "acme", modelName: "one" });
  expect(await registry.names()).not.toContainEqual({ customer: "acme", modelName: "removed" });
});
