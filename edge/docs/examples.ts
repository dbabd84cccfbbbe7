/** An example of each call, as curl, TypeScript and Python. */
import type { Call } from "../openapi-call.ts";

type Example = {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: object;
  /** The method of the clients, if they have one, and its arguments after the path's. */
  readonly method?: string;
};

const BATCH = "2f1c9f0e-5d0a-4c7b-9b34-6f1d2f0b7a11";
const MODEL = { model_name: "shop" };
const SCENARIO = { ...MODEL, scenario_name: "home" };
const SPEC = {
  model_name: "shop",
  connector_configs: [{ type: "File", location: "shop/*.csv" }],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id", source: { query: "SELECT * FROM items" } },
    interaction: {
      created_at: "created_at",
      label: { type: "Binary", name: "label" },
      source: { query: "SELECT * FROM interactions" },
    },
  },
  train_schedule: "@daily",
};
const CHANGE = { item_id: "i3", attributes: { price: 19.9 }, hidden: false };
const EVENT = { user_id: "u17", item_id: "i3", type: "view" };

export const EXAMPLES: Readonly<Record<string, Example>> = {
  rankByBody: {
    path: MODEL,
    body: { user_id: "u17", limit: 5, retrieval: { price: { $lt: 80 } }, return: ["scores", "reasons"] },
    method: "rank",
  },
  rankByQuery: { path: MODEL, query: "user_id=u17&limit=5" },
  similarByBody: { path: MODEL, body: { item_id: "i3", limit: 5 }, method: "similarItems" },
  similarByQuery: { path: MODEL, query: "item_ids=i3,i8&relation=together&limit=5" },
  postEvents: { body: { events: [EVENT] }, method: "events" },
  viewUserEvents: { path: { user_id: "u17" }, method: "viewUserEvents" },
  changeItems: { path: MODEL, body: { items: [CHANGE] }, method: "changeItems" },
  listItems: { path: MODEL, query: "search=lamp&limit=20", method: "findItems" },
  viewItem: { path: { ...MODEL, item_id: "i3" }, method: "viewItem" },
  createModel: { body: SPEC, method: "createModel" },
  listModels: { query: "limit=20", method: "listModels" },
  viewModel: { path: MODEL, method: "viewModel" },
  changeModel: { path: MODEL, body: { train_schedule: "@hourly" }, method: "changeModel" },
  trainModel: { path: MODEL, method: "trainModel" },
  deleteModel: { path: MODEL, method: "deleteModel" },
  listScenarios: { path: MODEL, method: "listScenarios" },
  viewScenario: { path: SCENARIO, method: "viewScenario" },
  storeScenario: {
    path: SCENARIO,
    body: { limit: 20, retrieval: { stock: true }, max_per_value: { brand: 2 } },
    method: "storeScenario",
  },
  deleteScenario: { path: SCENARIO, method: "deleteScenario" },
  putExperiment: {
    path: MODEL,
    body: {
      name: "varied",
      arms: [
        { name: "now", share: 0.5 },
        { name: "varied", share: 0.5, scenario: "home" },
      ],
      goal: { type: "purchase", within_hours: 24 },
    },
    method: "putExperiment",
  },
  viewExperiment: { path: MODEL, method: "viewExperiment" },
  endExperiment: { path: MODEL, body: { keep: "varied" }, method: "endExperiment" },
  createBatch: { path: MODEL, body: { users: "all", limit: 20, format: "csv" }, method: "createBatch" },
  viewBatch: { path: { ...MODEL, batch_id: BATCH }, method: "viewBatch" },
  stopBatch: { path: { ...MODEL, batch_id: BATCH }, method: "stopBatch" },
  viewEvaluation: { path: MODEL, method: "viewEvaluation" },
  evaluateGiven: { path: MODEL, body: { item_attribute: "category" }, method: "evaluate" },
  listRuns: { path: MODEL, method: "listRuns" },
  listVersions: { path: MODEL, method: "listVersions" },
  activateVersion: { path: { ...MODEL, version: "20261124T093000000Z-1a2b3c4d" }, method: "activateVersion" },
  mergeUsers: { path: { user_id: "u17" }, body: { from: "anonymous-7" }, method: "mergeUsers" },
  eraseUser: { path: { user_id: "u17" }, method: "eraseUser" },
  eraseGivenUser: { body: { user_id: "u17" } },
  viewHealth: { method: "viewHealth" },
  viewLive: { method: "viewLive" },
  live: {},
  ready: {},
};

/** Path and query of an example. */
export function addressOf({ id, path }: Call): string {
  const { path: values = {}, query } = EXAMPLES[id]!;
  return `${path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!)}${query ? `?${query}` : ""}`;
}

export function curlOf(call: Call, origin: string): string {
  const { body } = EXAMPLES[call.id]!;
  const lines = [
    `curl ${call.method === "get" ? "" : `-X ${call.method.toUpperCase()} `}"${origin}${addressOf(call)}"`,
  ];
  if (call.scope) lines.push('-H "x-api-key: $KEY"');
  if (body) lines.push('-H "content-type: application/json"', `-d '${JSON.stringify(body)}'`);
  return lines.join(" \\\n  ");
}

/** Undefined for a call that the clients make in another form. */
export function typeScriptOf({ id }: Call): string | undefined {
  const { method } = EXAMPLES[id]!;
  return method && `await shortlist.${method}(${argumentsOf(id).map(asScript).join(", ")});`;
}

/** Undefined for a call that the clients make in another form. */
export function pythonOf({ id }: Call): string | undefined {
  const { method, path = {}, body, query } = EXAMPLES[id]!;
  if (!method) return undefined;
  const named = isNamed(id) ? { ...body, ...valuesIn(query) } : {};
  const { item_id, ...fields } = named as Record<string, unknown>;
  const first = isNamed(id) ? [...Object.values(path), ...(item_id === undefined ? [] : [item_id])] : argumentsOf(id);
  const args = Object.entries(fields).map(([name, value]) => {
    return `${name === "return" ? "return_" : name}=${asPython(value)}`;
  });
  return `shortlist.${method.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}(${[...first.map(asPython), ...args].join(", ")})`;
}

/** Calls whose fields are arguments of their own in Python. */
const isNamed = (id: string) => ["rankByBody", "similarByBody", "listModels", "listItems"].includes(id);

/** The parameters of a query, with numbers. */
const valuesIn = (query = ""): Record<string, string | number> =>
  Object.fromEntries([...new URLSearchParams(query)].map(([name, value]) => [name, Number(value) || value]));

function argumentsOf(id: string): unknown[] {
  const { path = {}, body, query } = EXAMPLES[id]!;
  if (id === "postEvents") return [EVENT];
  if (id === "changeItems") return [MODEL.model_name, [CHANGE]];
  if (id === "mergeUsers") return [...Object.values(path), ...Object.values(body!)];
  const sent = query ? valuesIn(query) : body;
  return [...Object.values(path), ...(sent ? [sent] : [])];
}

const asScript = (value: unknown) =>
  JSON.stringify(value, null, 1)
    .replace(/\n\s*/g, " ")
    .replace(/"([a-z_]+)":/g, "$1:");
const asPython = (value: unknown) =>
  JSON.stringify(value, null, 1)
    .replace(/\n\s*/g, " ")
    .replace(/: true/g, ": True")
    .replace(/: false/g, ": False");
