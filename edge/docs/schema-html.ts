/** JSON Schema as HTML: a list of fields with their types, bounds and meanings. */
import { html } from "hono/html";

export type JsonSchema = {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly $ref?: string;
};
type Html = ReturnType<typeof html>;

/** Text whose parts between backticks are code. */
export const prose = (text: string): Html =>
  html`${text.split("`").map((part, i) => (i % 2 === 0 ? part : html`<code>${part}</code>`))}`;

/** The alternatives of a schema. */
const alternativesOf = ({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] => anyOf ?? oneOf ?? [];

/** The fields of an object, of the elements of a list or of alternatives; "" if there are none. */
export function fieldsOf(schema: JsonSchema): Html | "" {
  const { properties, required = [], items, additionalProperties: others } = schema;
  if (properties)
    return html`<ul>${Object.entries(properties).map(([name, of]) => field(name, of, required.includes(name)))}</ul>`;
  if (items) return fieldsOf(items);
  if (typeof others === "object") return fieldsOf(others);
  const parts = alternativesOf(schema)
    .map(fieldsOf)
    .filter((part) => part !== "");
  return parts.length > 0 ? html`${parts}` : "";
}

function field(name: string, schema: JsonSchema, isRequired: boolean): Html {
  const inner = fieldsOf(schema);
  const kind = html`<code>${name}</code> <i>${typeOf(schema)}</i>${isRequired ? html` <b>required</b>` : ""}`;
  const line = html`${kind} ${boundsOf(schema)} ${prose(schema.description ?? "")}`;
  return inner === "" ? html`<li>${line}</li>` : html`<li><details><summary>${line}</summary>${inner}</details></li>`;
}

/** Words for the schemas of the filter language. */
const NAMED: Readonly<Record<string, string>> = { Retrieval: "retrieval query", Reference: "reference" };

/** A type in words: `list of string or integer`. */
export function typeOf(schema: JsonSchema): string {
  const { type, items, enum: values, const: value, $ref } = schema;
  if ($ref) return NAMED[$ref.slice($ref.lastIndexOf("/") + 1)] ?? "condition";
  if (value !== undefined) return JSON.stringify(value);
  if (values) return values.map((one) => JSON.stringify(one)).join(" | ");
  if (items) return `list of ${typeOf(items)}`;
  if (typeof type === "string") return type;
  const kinds = type ?? alternativesOf(schema).map(typeOf);
  return [...new Set(kinds)].join(" or ") || "any";
}

function boundsOf({ minimum, maximum, maxItems, maxLength, default: value }: JsonSchema): string {
  const isSafe = maximum !== undefined && Math.abs(maximum) < Number.MAX_SAFE_INTEGER;
  const bounds = [
    isSafe ? `${minimum ?? ""} to ${maximum}` : "",
    maxItems === undefined ? "" : `at most ${maxItems}`,
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
    value === undefined ? "" : `default ${JSON.stringify(value)}`,
  ];
  const told = bounds.filter((bound) => bound !== "");
  return told.length > 0 ? `(${told.join(", ")})` : "";
}
