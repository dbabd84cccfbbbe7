/** A model's scenarios in the bucket, and what they are checked against. */
import { clipped } from "../../shared/clipped.ts";
import { forEachConcurrently } from "../../shared/concurrently.ts";
import { knownNames } from "../../shared/known-names.ts";
import { blobKey, type Descriptor } from "../../shared/manifest.ts";
import type { ScenarioProblems } from "../../shared/model-record.ts";
import { fittingPart, Scenario, scenarioKey, scenarioNotFound, scenariosPrefix } from "../../shared/scenario.ts";
import type { KnownNames } from "../../shared/snapshot.ts";
import type { ModelRef } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError, storedJson } from "./object-store.ts";
import { readManifest } from "./versions.ts";

const READS_AT_ONCE = 8;
const PROBLEM_CHARACTERS_MAX = 300;

/** Sorted names of the model's scenarios. */
export async function scenarioNames(store: ObjectStore, { customer, modelName }: ModelRef): Promise<string[]> {
  const prefix = scenariosPrefix(customer, modelName);
  const names: string[] = [];
  for await (const { key } of store.list(prefix)) names.push(key.slice(prefix.length, -".json".length));
  return names;
}

/** Throws Problem scenario_not_found, StoreError if the object is damaged. */
export async function readScenario(store: ObjectStore, model: ModelRef, name: string): Promise<Scenario> {
  const key = scenarioKey(model.customer, model.modelName, name);
  const found = await store.get(key);
  if (found === undefined) throw scenarioNotFound(name);
  const parsed = Scenario.strip().safeParse(storedJson(found.bytes));
  if (!parsed.success) throw new StoreError(`${key} is not a scenario: store it again.`);
  return parsed.data;
}

/** The scenarios with parts that do not fit a version. A scenario that is deleted or cannot be read is left out. */
export async function scenarioProblems(
  store: ObjectStore,
  model: ModelRef,
  names: () => Promise<KnownNames | undefined>,
): Promise<ScenarioProblems> {
  const stored = await scenarioNames(store, model);
  const known = stored.length === 0 ? undefined : await names();
  if (known === undefined) return [];
  const found: { scenario: string; problems: string[] }[] = [];
  await forEachConcurrently(stored, READS_AT_ONCE, async (scenario) => {
    const read = await store.get(scenarioKey(model.customer, model.modelName, scenario));
    const parsed = Scenario.strip().safeParse(read && storedJson(read.bytes));
    const problems = parsed.success ? fittingPart(parsed.data, known).problems : [];
    if (problems.length > 0) found.push({ scenario, problems: problems.map(shortened) });
  });
  return found.sort((a, b) => (a.scenario < b.scenario ? -1 : 1));
}

const shortened = (text: string) =>
  text.length > PROBLEM_CHARACTERS_MAX ? `${clipped(text, PROBLEM_CHARACTERS_MAX - 1).toWellFormed()}…` : text;

/** What scenarios are checked against. Undefined for a version that is not stored. Throws FormatError, StoreError. */
export async function namesOfVersion(
  store: ObjectStore,
  model: ModelRef,
  version: string,
): Promise<KnownNames | undefined> {
  const manifest = await readManifest(store, model, version);
  if (manifest === undefined) return undefined;
  const read = async ({ digest }: Descriptor) => {
    const found = await store.get(blobKey(model.customer, model.modelName, digest));
    if (found === undefined) throw new StoreError(`A file of version ${version} is absent.`, { retryable: true });
    return found.bytes;
  };
  const { catalog, attributes, item_id_column: itemIdColumn, item_created_at: itemCreatedAt } = manifest;
  const files = { catalog: await read(catalog), attributes: attributes && (await read(attributes)) };
  return knownNames({ ...files, itemIdColumn, itemCreatedAt });
}
