/** Calls as code that makes exactly them. The key is a variable: what is copied contains no secret. */
import { OF_SIMILAR, ROW_FIELDS } from "../client/row-attributes.ts";
import type { ItemId, RankRequest } from "../client/shortlist.ts";

export type Call = { readonly origin: string; readonly model: string; readonly request: RankRequest };

const LINE_MAX = 70;

/** A management call. */
export function actionCurl(method: "POST" | "PUT" | "PATCH" | "DELETE", url: string, body?: unknown): string {
  const call = `curl -X ${method} "${url}" -H "x-api-key: $KEY"`;
  return body === undefined ? call : `${call} \\\n  -H "content-type: application/json" -d ${quoted(body)}`;
}

/** The path of a model in the API. */
export const apiPath = (model: string): string => `/v0/models/${encodeURIComponent(model)}`;

export const scenarioPath = (model: string, scenario: string): string =>
  `${apiPath(model)}/scenarios/${encodeURIComponent(scenario)}`;

/** JSON as an argument of a shell. */
const quoted = (body: unknown): string => `'${JSON.stringify(body).replaceAll("'", "'\\''")}'`;

export function curlOf({ origin, model, request }: Call): string {
  return [
    `curl -X POST "${origin}${apiPath(model)}/rank"`,
    `  -H "x-api-key: $KEY" -H "content-type: application/json"`,
    `  -d ${quoted(request)}`,
  ].join(" \\\n");
}

export function typeScriptOf({ origin, model, request }: Call): string {
  return [
    `import { Shortlist } from "${origin}/client.js"; // or the package shortlist-client`,
    "",
    `const shortlist = new Shortlist({ url: ${JSON.stringify(origin)}, apiKey: KEY });`,
    `const ranked = await shortlist.rank(${JSON.stringify(model)}, ${literal(request, SCRIPT)});`,
  ].join("\n");
}

export function pythonOf({ origin, model, request }: Call): string {
  const { return: details, ...others } = request;
  const fields = { ...others, ...(details && { return_: details }) };
  const given = Object.entries(fields).map(([name, value]) => `${name}=${literal(value, PYTHON)}`);
  const inLine = `ranked = shortlist.rank(${[JSON.stringify(model), ...given].join(", ")})`;
  const call =
    inLine.length <= LINE_MAX || given.length === 0
      ? inLine
      : `ranked = shortlist.rank(\n    ${[JSON.stringify(model), ...given].join(",\n    ")},\n)`;
  return [
    `from shortlist import Shortlist  # curl -o shortlist.py ${origin}/client.py`,
    "",
    `shortlist = Shortlist(${JSON.stringify(origin)}, KEY)`,
    call,
  ].join("\n");
}

/** A web component that shows the list. Fields without an attribute of their own are in `request`. */
export function rowOf({ origin, model, request }: Call): string {
  const { return: _, ...left } = request as RankRequest & Record<string, unknown>;
  const attributes: [name: string, text: string][] = [
    ["key", "KEY"],
    ["model", model],
  ];
  for (const [name, [field, kind]] of Object.entries(ROW_FIELDS)) {
    const { [field]: value } = left;
    const text = kind === "interactions" ? idsText(value) : kind === "json" ? JSON.stringify(value) : value;
    if (value === undefined || text === undefined || OF_SIMILAR.includes(name)) continue;
    attributes.push([name, String(text)]);
    delete left[field];
  }
  if (Object.keys(left).length > 0) attributes.push(["request", JSON.stringify(left)]);
  const written = attributes.map(([name, text]) => `${name}=${attributeText(text)}`);
  const isShort = written.join(" ").length <= LINE_MAX;
  return [
    `<script type="module" src="${origin}/shortlist-row.js"></script>`,
    `<shortlist-row${isShort ? ` ${written.join(" ")}` : `\n  ${written.join("\n  ")}\n`}></shortlist-row>`,
  ].join("\n");
}

/** Undefined where an id would not be read as it is. */
function idsText(interactions: unknown): string | undefined {
  const ids = ((interactions ?? []) as { item_id: ItemId }[]).map(({ item_id }) => item_id);
  return /[,\s]/.test(ids.join("")) ? undefined : ids.join(",");
}

/** A text in the quotes that it does not contain. */
function attributeText(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return text.includes('"') ? `'${escaped.replaceAll("'", "&#39;")}'` : `"${escaped}"`;
}

/** How a language writes names of fields and the values that JSON writes differently. */
type Language = { readonly name: (name: string) => string; readonly words: Readonly<Record<string, string>> };

const SCRIPT: Language = {
  name: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)),
  words: { true: "true", false: "false", null: "null" },
};
const PYTHON: Language = { name: JSON.stringify, words: { true: "True", false: "False", null: "None" } };

function literal(value: unknown, language: Language): string {
  if (Array.isArray(value)) return `[${value.map((element) => literal(element, language)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).map(([name, field]) => `${language.name(name)}: ${literal(field, language)}`);
    return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
  }
  return typeof value === "string" || typeof value === "number"
    ? JSON.stringify(value)
    : language.words[String(value)]!;
}
