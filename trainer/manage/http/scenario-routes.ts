/** The calls on a model's scenarios. They are objects beside the model's live pointer; every edge reads them from there. */
import type { Context } from "hono";
import { decodeAttributes } from "../../../shared/attributes.ts";
import { decodeCatalog } from "../../../shared/catalog.ts";
import { compileFilter } from "../../../shared/filter/compile-filter.ts";
import { blobKey, type Descriptor } from "../../../shared/manifest.ts";
import { Problem } from "../../../shared/problem.ts";
import {
  checkFits,
  parseScenario,
  requireScenarioName,
  SCENARIO_BYTES_MAX,
  SCENARIOS_MAX,
  scenarioKey,
  scenarioNotFound,
  scenariosPrefix,
} from "../../../shared/scenario.ts";
import type { KnownNames } from "../../../shared/snapshot.ts";
import { type ObjectStore, StoreError } from "../../store/object-store.ts";
import { readManifest } from "../../store/versions.ts";
import type { Model } from "../records/model-transitions.ts";
import type { AppEnv, Route } from "./app.ts";
import { jsonOf } from "./read-request.ts";

type Find = (c: Context<AppEnv>) => Promise<Model>;

export function scenarioRoutes(store: ObjectStore, find: Find): readonly Route[] {
  const keyOf = async (c: Context<AppEnv>) => {
    const { customer, modelName } = await find(c);
    return scenarioKey(customer, modelName, requireScenarioName(nameOf(c)));
  };
  const list = async (c: Context<AppEnv>) => c.json({ scenarios: await namesOf(store, await find(c)) });
  const view = async (c: Context<AppEnv>) => {
    const found = await store.get(await keyOf(c));
    if (found === undefined) throw scenarioNotFound(nameOf(c));
    return c.json(JSON.parse(new TextDecoder().decode(found.bytes)), 200, { etag: quoted(found.etag) });
  };
  const put = async (c: Context<AppEnv>) => {
    const model = await find(c);
    const key = await keyOf(c);
    const sent = c.get("body");
    if (sent.length > SCENARIO_BYTES_MAX)
      throw new Problem("body_too_large", `A scenario has at most ${SCENARIO_BYTES_MAX} bytes.`);
    const scenario = parseScenario(jsonOf(sent, c.req.header("content-type")));
    const names = await liveNames(store, model);
    if (names) checkFits(scenario, names);
    const found = await store.get(key);
    const wanted = c.req.header("if-match");
    if (wanted !== undefined && wanted !== "*" && wanted !== (found && quoted(found.etag))) throw notTheSame();
    if (found === undefined && (await namesOf(store, model)).length >= SCENARIOS_MAX)
      throw new Problem("too_many_scenarios", `A model has at most ${SCENARIOS_MAX} scenarios.`);
    const bytes = new TextEncoder().encode(JSON.stringify(scenario));
    const etag = await store.swap(key, bytes, found?.etag ?? null);
    if (etag === undefined) throw notTheSame();
    await find(c).catch(async (error: unknown) => {
      await store.delete(key); // the model was deleted meanwhile
      throw error;
    });
    return c.json(scenario, 200, { etag: quoted(etag) });
  };
  const remove = async (c: Context<AppEnv>) => {
    const key = await keyOf(c);
    if ((await store.head(key)) === undefined) throw scenarioNotFound(nameOf(c));
    await store.delete(key);
    return c.json({ message: `Scenario '${nameOf(c)}' was deleted`, name: nameOf(c) });
  };
  const path = "/v0/models/:model_name/scenarios";
  return [
    { path, methods: { GET: list } },
    { path: `${path}/:scenario_name`, methods: { GET: view, PUT: put, DELETE: remove } },
  ];
}

const nameOf = (c: Context<AppEnv>): string => c.req.param("scenario_name")!;
const quoted = (etag: string): string => `"${etag.replaceAll('"', "")}"`;
const notTheSame = () =>
  new Problem("precondition_failed", "The scenario was changed by somebody else. Read it again.");

async function namesOf(store: ObjectStore, { customer, modelName }: Model): Promise<{ name: string }[]> {
  const prefix = scenariosPrefix(customer, modelName);
  const names: { name: string }[] = [];
  for await (const { key } of store.list(prefix)) names.push({ name: key.slice(prefix.length, -".json".length) });
  return names;
}

/** What a scenario is checked against. Undefined before the first training. */
async function liveNames(store: ObjectStore, model: Model): Promise<KnownNames | undefined> {
  const { customer, modelName, version } = model;
  const manifest = version === null ? undefined : await readManifest(store, model, version);
  if (manifest === undefined) return undefined;
  const read = async ({ digest }: Descriptor) => {
    const found = await store.get(blobKey(customer, modelName, digest));
    if (found === undefined) throw new StoreError(`A file of version ${version} is absent.`, { retryable: true });
    return found.bytes;
  };
  const catalog = decodeCatalog(await read(manifest.catalog));
  const attributes = manifest.attributes && decodeAttributes(await read(manifest.attributes));
  const source = { table: attributes, catalog, itemIdColumn: manifest.item_id_column };
  const { indexOf } = catalog;
  return { version: "", attributes, indexOf, compileFilter: (filter) => compileFilter(filter, source) };
}
