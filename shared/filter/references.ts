/**
 * References in filters and boosts: values that a call supplies, such as `{"$user": "country"}`.
 *
 *     Reference = { "$user" | "$item" | "$context": name, "default"?: scalar | [scalar*] }
 *
 * A reference stands where a value stands; in the place of a whole list (`$in`, `$nin`, `$all`) its value may be a list. References are
 * replaced by their values once per call, before the filter is compiled.
 *
 * A reference without a value and without a default is *missing*, and the attribute's condition that holds it then fails for every item.
 * That is so under every negation too: `$ne`, `$nin`, `$nor` and `$not`, inside or around the condition, do not turn the failure into a
 * match, as with NULL in SQL. So `$ne` stays the exact complement of `$eq` among items whose condition can be decided, and a rule whose
 * value is unknown never lets an item through. The other branches of an `$or` still decide for themselves.
 */
import { pointerStep, shown } from "../parse-request.ts";
import { filterProblem } from "./filter-problem.ts";

export type Scalar = string | number | boolean | null;
export type ReferenceValue = Scalar | readonly Scalar[];
export type Reference = {
  readonly from: "user" | "item" | "context";
  readonly name: string;
  /** The place of the reference in the request. */
  readonly pointer: string;
  /** Used where there is no value. Undefined: the reference is then missing. */
  readonly fallback: ReferenceValue | undefined;
};

export const REFERENCES: readonly string[] = ["$user", "$item", "$context"];
export const REFERENCE_NAME_MAX = 1000;
/** More levels than a filter may have. Deeper JSON is left as it is, for the parser to refuse. */
const LEVELS_MAX = 40;
const LIST_OPERATORS: readonly string[] = ["$in", "$nin", "$all"];

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const referenceKey = (sent: object) => REFERENCES.find((name) => Object.hasOwn(sent, name));

/** Whether JSON holds a reference. */
export function hasReference(sent: unknown, level = 0): boolean {
  if (!isObject(sent) || level > LEVELS_MAX) return false;
  if (!Array.isArray(sent) && referenceKey(sent) !== undefined) return true;
  return Object.values(sent).some((value) => hasReference(value, level + 1));
}

/** JSON with a value in place of each reference. Throws Problem invalid_filter for a reference of a wrong form. */
export function withReplaced(
  sent: unknown,
  pointer: string,
  replace: (reference: Reference) => ReferenceValue,
  { level = 0, isList = false } = {},
): unknown {
  if (!isObject(sent) || level > LEVELS_MAX) return sent;
  if (!Array.isArray(sent) && referenceKey(sent) !== undefined) {
    const value = replace(referenceOf(sent, pointer));
    return isList && !Array.isArray(value) ? [value] : value;
  }
  const entries = Object.entries(sent).map(([key, value]): [string, unknown] => {
    const deeper = { level: level + 1, isList: LIST_OPERATORS.includes(key) };
    return [key, withReplaced(value, pointer + pointerStep(key), replace, deeper)];
  });
  return Array.isArray(sent) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

function referenceOf(sent: object, pointer: string): Reference {
  const key = referenceKey(sent)!;
  const { [key]: name, default: fallback, ...others } = sent as Record<string, unknown>;
  const [other] = Object.keys(others);
  const at = pointer + pointerStep(key);
  if (other !== undefined)
    throw filterProblem("invalid_filter", pointer + pointerStep(other), `may not be beside ${key}: only "default" may`);
  if (typeof name !== "string" || name.length === 0 || name.length > REFERENCE_NAME_MAX || !name.isWellFormed())
    throw filterProblem(
      "invalid_filter",
      at,
      `must be a name of 1 to ${REFERENCE_NAME_MAX} characters, found ${shown(name)}`,
    );
  if (isObject(fallback) && !Array.isArray(fallback))
    throw filterProblem(
      "invalid_filter",
      `${pointer}/default`,
      `must be a value or a list of values, found ${shown(fallback)}`,
    );
  return { from: key.slice(1) as Reference["from"], name, pointer, fallback: fallback as ReferenceValue | undefined };
}

/** How header x-missing-references names a reference. */
export const referenceName = ({ from, name }: Pick<Reference, "from" | "name">): string =>
  `$${from}.${encodeURIComponent(name)}`;
