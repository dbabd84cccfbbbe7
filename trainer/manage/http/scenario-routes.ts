/** The calls on a model's scenarios. They are objects beside the model's live pointer; every edge reads them from there. */
import type { Context } from "hono";
import { Problem } from "../../../shared/problem.ts";
import {
  checkFits,
  parseScenario,
  requireScenarioName,
  SCENARIO_BYTES_MAX,
  SCENARIOS_MAX,
  scenarioKey,
  scenarioNotFound,
} from "../../../shared/scenario.ts";
import { namesOfVersion, scenarioNames } from "../../store/scenarios.ts";
import { type ActionContext, POINTER_WAIT_MS } from "../models/model-actions.ts";
import type { Model } from "../records/model-transitions.ts";
import type { AppEnv, Route } from "./app.ts";
import { jsonOf } from "./read-request.ts";

type Find = (c: Context<AppEnv>) => Promise<Model>;
type ScenarioContext = Pick<ActionContext, "store" | "registry" | "pointers">;

export function scenarioRoutes({ store, registry, pointers }: ScenarioContext, find: Find): readonly Route[] {
  /** Lets the scenarios be checked against the live version again, for the model's record. */
  const noteChange = async (model: Model) => {
    await registry.apply(model.customer, model.modelName, { kind: "scenarios_changed" });
    pointers.reconcile(model);
    await pointers.whenReconciled(model, POINTER_WAIT_MS);
  };
  const keyOf = async (c: Context<AppEnv>) => {
    const { customer, modelName } = await find(c);
    return scenarioKey(customer, modelName, requireScenarioName(nameOf(c)));
  };
  const list = async (c: Context<AppEnv>) => {
    const names = await scenarioNames(store, await find(c));
    return c.json({ scenarios: names.map((name) => ({ name })) });
  };
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
    const names = model.version === null ? undefined : await namesOfVersion(store, model, model.version);
    if (names) checkFits(scenario, names);
    const found = await store.get(key);
    const wanted = c.req.header("if-match");
    if (wanted !== undefined && wanted !== "*" && wanted !== (found && quoted(found.etag))) throw notTheSame();
    if (found === undefined && (await scenarioNames(store, model)).length >= SCENARIOS_MAX)
      throw new Problem("too_many_scenarios", `A model has at most ${SCENARIOS_MAX} scenarios.`);
    const bytes = new TextEncoder().encode(JSON.stringify(scenario));
    const etag = await store.swap(key, bytes, found?.etag ?? null);
    if (etag === undefined) throw notTheSame();
    await find(c).catch(async (error: unknown) => {
      await store.delete(key); // the model was deleted meanwhile
      throw error;
    });
    await noteChange(model);
    return c.json(scenario, 200, { etag: quoted(etag) });
  };
  const remove = async (c: Context<AppEnv>) => {
    const key = await keyOf(c);
    if ((await store.head(key)) === undefined) throw scenarioNotFound(nameOf(c));
    await store.delete(key);
    await noteChange(await find(c));
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
