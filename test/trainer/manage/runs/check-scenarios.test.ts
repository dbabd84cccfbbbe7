import { expect, test } from "vitest";
import { encodeCatalog } from "../../../../shared/catalog.ts";
import { blobKey, manifestKey } from "../../../../shared/manifest.ts";
import { packStrings } from "../../../../shared/packed-strings.ts";
import { scenarioKey } from "../../../../shared/scenario.ts";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import type { ModelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { type Model, type ModelEvent, modelAfter } from "../../../../trainer/manage/records/model-transitions.ts";
import { checkScenarios } from "../../../../trainer/manage/runs/check-scenarios.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { TINY_MODEL, tinyVersion } from "../../../fixtures/tiny-version.ts";
import { aModel, NOW } from "../../../fixtures/trainer-model.ts";

const bytesOf = (value: object) => new TextEncoder().encode(JSON.stringify(value));
const { manifest } = await tinyVersion("first", 0);
const CATALOG = encodeCatalog({ itemIds: packStrings(["a"]), itemIdType: "string" });
const HOME = scenarioKey("acme", "movies", "home");

/** The live version v1 has items without attributes, and the scenario filters by one. */
async function world({ catalog = CATALOG, record = {} as Partial<Model> } = {}) {
  const store = memoryStore();
  const logs: LogEntry[] = [];
  let model: Model | undefined = aModel({ ...TINY_MODEL, status: "ACTIVE", version: "v1", ...record });
  const apply = (event: ModelEvent) => {
    const next = model && modelAfter(model, event, NOW);
    model = next ?? model;
    return next;
  };
  const registry = {
    find: async () => model,
    apply: async (_customer: string, _name: string, event: ModelEvent) => apply(event),
  } as unknown as ModelRegistry;
  await store.putIfAbsent(manifestKey("acme", "movies", "v1"), bytesOf(manifest), "x");
  await store.putIfAbsent(blobKey("acme", "movies", manifest.catalog.digest), catalog, "x");
  await store.putIfAbsent(HOME, bytesOf({ retrieval: { brand: "x" } }), "x");
  const check = (on = store) => checkScenarios(TINY_MODEL, { store: on, registry, log: (entry) => logs.push(entry) });
  return { store, logs, apply, check, problems: () => model?.scenarioProblems };
}

test("the record and the log name the parts that do not fit, once for each version", async () => {
  const { check, problems, logs } = await world();
  await check();
  await check();
  expect(problems()).toEqual([{ scenario: "home", problems: [expect.stringContaining("/retrieval/brand")] }]);
  expect(logs).toMatchObject([{ event: "scenario_problem", model_name: "movies", version: "v1", scenario: "home" }]);
});

test("a scenario that changes during the check is checked again", async () => {
  const { store, check, apply, problems } = await world();
  let isChanged = false;
  const get: typeof store.get = async (key, range) => {
    const found = await store.get(key, range);
    if (key === HOME && !isChanged) {
      isChanged = true;
      await store.swap(HOME, bytesOf({ limit: 3 }), found!.etag);
      apply({ kind: "scenarios_changed" });
    }
    return found;
  };
  await check({ ...store, get });
  expect(problems()).toEqual([]);
});

test("a damaged scenario is left out; with a damaged version nothing is known, and the log says so", async () => {
  const damaged = await world();
  await damaged.store.swap(HOME, bytesOf({ limit: "many" }), (await damaged.store.get(HOME))!.etag);
  await damaged.check();
  expect(damaged.problems()).toEqual([]);
  const { check, problems, logs } = await world({ catalog: Uint8Array.of(1) });
  await check();
  expect(problems()).toBeNull();
  expect(logs).toMatchObject([{ event: "scenarios_not_checked", level: "warning", model_name: "movies" }]);
});

test.each([
  ["no version", { version: null }],
  ["a record that says it already", { scenarioProblems: [] }],
  ["a deletion under way", { status: "DESTROYING" as const }],
])("nothing is read of a model with %s", async (_what, record) => {
  const { check, store } = await world({ record });
  const list = () => {
    throw new Error("read");
  };
  await check({ ...store, list });
});
