/** A filter as a list of conditions, each an attribute, an operator and a value. */
import { REFERENCES } from "../../shared/filter/references.ts";

type Filter = Readonly<Record<string, unknown>>;

export type Condition = { readonly attribute: string; readonly operator: string; readonly value: unknown };

/** The operators that a form offers, with their words. */
export const COMPARISONS = [
  ["$eq", "is"],
  ["$ne", "is not"],
  ["$lt", "is below"],
  ["$gte", "is at least"],
] as const;

/** The only comparison of places. */
export const PLACE_COMPARISONS = [["$near", "is within"]] as const;
const KM_DEFAULT = 10;

/** Whether an attribute holds places, by a value that an item has: "lat,lon". */
export const isPlace = (example: unknown): example is string =>
  typeof example === "string" && /^-?\d+(\.\d+)?,-?\d+(\.\d+)?$/.test(example);

/** The text of a form, "lat,lon,km", for a place. */
export const nearText = (place: string): string => `${place},${KM_DEFAULT}`;

/** Undefined if it is no "lat,lon,km" yet. */
export function nearIn(text: string): Readonly<Record<"lat" | "lon" | "km", number>> | undefined {
  const numbers = text.split(",").map((part) => (part.trim() ? Number(part) : Number.NaN));
  const [lat, lon, km] = numbers as [number, number, number];
  return numbers.length === 3 && numbers.every(Number.isFinite) ? { lat, lon, km } : undefined;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ...COMPARISONS,
  ...PLACE_COMPARISONS,
  ["$lte", "is at most"],
  ["$gt", "is above"],
  ["$in", "is one of"],
  ["$nin", "is none of"],
]);

/** `{"price": {"$gte": 20, "$lt": 80}}` has two. A group such as `$or` is one, with no operator. */
export const conditionsIn = (filter: Filter): Condition[] =>
  Object.entries(filter).flatMap(([attribute, tests]) => {
    if (attribute.startsWith("$")) return [{ attribute, operator: "", value: tests }];
    return Object.entries(testsOf(tests)).map(([operator, value]) => ({ attribute, operator, value }));
  });

/** The filter with one more condition, which replaces one of the same attribute and operator. */
export const withCondition = (filter: Filter, { attribute, operator, value }: Condition): Filter => ({
  ...filter,
  [attribute]: shortened({ ...testsOf(filter[attribute]), [operator]: value }),
});

/** The text of the filter without the condition; empty if nothing is left. */
export function withoutCondition(filter: Filter, { attribute, operator }: Condition): string {
  const { [attribute]: tests, ...others } = filter;
  const { [operator]: _, ...left } = operator === "" ? {} : testsOf(tests);
  const without = Object.keys(left).length > 0 ? { ...others, [attribute]: shortened(left) } : others;
  return Object.keys(without).length > 0 ? JSON.stringify(without) : "";
}

/** Such as "price is below 80". */
export function textOf({ attribute, operator, value }: Condition): string {
  if (operator === "$near" && typeof value === "object" && value !== null) return `${attribute} is ${nearWords(value)}`;
  const isList = Array.isArray(value) && value.every((element) => typeof element !== "object");
  const shown = isList ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : value;
  return `${attribute} ${WORDS.get(operator) ?? operator} ${shown}`.replaceAll("  ", " ");
}

/** Such as "within 10 km of 52.5, 13.4". A number may be a reference. */
function nearWords(value: { lat?: unknown; lon?: unknown; km?: unknown }): string {
  const [km, lat, lon] = [value.km, value.lat, value.lon].map((number) =>
    typeof number === "number" ? number : JSON.stringify(number),
  );
  return `within ${km} km of ${lat}, ${lon}`;
}

/** The operators of an attribute: a bare value or a reference means that it is equal. */
function testsOf(tests: unknown): Filter {
  const isObject = typeof tests === "object" && tests !== null && !Array.isArray(tests);
  const isOperators = isObject && !REFERENCES.some((name) => name in tests);
  return isOperators ? (tests as Filter) : tests === undefined ? {} : { $eq: tests };
}

const shortened = (tests: Filter): unknown => (Object.keys(tests).length === 1 && "$eq" in tests ? tests.$eq : tests);
