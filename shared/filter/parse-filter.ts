/**
 * The filter language: which items may be in an answer. It is a subset of MongoDB's query language; requests send it as `retrieval`.
 *
 *     Query     = { (attribute: Condition | "$and": [Query+] | "$or": [Query+] | "$nor": [Query+] | "$not": Query)* }
 *     Condition = scalar | { ("$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte": scalar
 *                          | "$in" | "$nin" | "$all": [scalar*] | "$exists": boolean | "$not": Condition
 *                          | "$near": {"lat": number, "lon": number, "km": number})* }
 *
 * All entries of an object must hold. `{}` restricts nothing, also as a condition. A missing value equals null, and no order comparison
 * holds for it. On a list, a test holds if any element passes it, and its negation if none does: `$ne`, `$nin` and `$not` are exact
 * complements. `$all` needs every one of its values; `$all: []`, like `$in: []`, matches nothing (as in MongoDB).
 *
 * A scalar, or the list of `$in`, `$nin` or `$all`, may be a reference to a value of the call (references.ts).
 *
 * Bounds: 16 KiB of JSON, 8 nested levels of queries and conditions, 256 tests, 1,000 values in a list.
 */
import { utf8BytesOf } from "../ids.ts";
import { didYouMean } from "../nearest-name.ts";
import { pointerStep, shown } from "../parse-request.ts";
import { CIRCLE_BOUNDS, type Circle, checkedNumbers } from "../place.ts";
import type { Problem } from "../problem.ts";
import { filterProblem } from "./filter-problem.ts";
import {
  hasReference,
  REFERENCES,
  type Reference,
  type ReferenceValue,
  type Scalar,
  withReplaced,
} from "./references.ts";

export type OrderOperator = "$gt" | "$gte" | "$lt" | "$lte";

/**
 * A checked filter. Every operator is reduced to two kinds of tests and to and/or/not: `$eq` is `in` with one value, `$ne` and `$nin` are
 * `not in`, `$exists` is `not in [null]`, `$nor` is `not or`, `$all` is an `and` of `in`. An `and` without parts holds, an `or` without
 * parts does not. `referring` conditions become tests before the filter is compiled. `pointer` is the place of the attribute in the
 * request (RFC 6901), `path` the place of the value below it, such as `/$in`.
 */
export type Filter =
  | { readonly kind: "and" | "or"; readonly of: readonly Filter[] }
  | { readonly kind: "not"; readonly of: Filter }
  | FilterTest
  | ReferringCondition;

type TestPlace = { readonly attribute: string; readonly pointer: string; readonly path: string };
export type FilterTest =
  | (TestPlace & { readonly kind: "in"; readonly values: readonly Scalar[] })
  | (TestPlace & { readonly kind: "compare"; readonly operator: OrderOperator; readonly value: string | number })
  | NearTest;
/** Whether a place is within a great-circle distance of another. */
export type NearTest = TestPlace & Circle & { readonly kind: "near" };

/** A condition whose references have no values yet. */
export type ReferringCondition = {
  readonly kind: "referring";
  readonly attribute: string;
  readonly pointer: string;
  readonly references: readonly Reference[];
  /** The condition with constants. Throws Problem if they are of a form that the condition does not allow. */
  readonly withValues: (valueFor: (reference: Reference) => ReferenceValue) => Filter;
};

export const FILTER_BYTES_MAX = 16_384;
export const FILTER_DEPTH_MAX = 8;
export const FILTER_TESTS_MAX = 256;
export const FILTER_VALUES_MAX = 1000;

const OPERATORS = [
  "$eq",
  "$ne",
  "$gt",
  "$gte",
  "$lt",
  "$lte",
  "$in",
  "$nin",
  "$all",
  "$exists",
  "$near",
  "$not",
] as const;
const CONNECTIVES = ["$and", "$or", "$nor", "$not"] as const;
export const FILTER_OPERATORS: readonly string[] = [...new Set<string>([...OPERATORS, ...CONNECTIVES])];
/** Operators of MongoDB that are left out on purpose, with the reason that the error gives. */
const REFUSED: Readonly<Record<string, string>> = {
  $regex: "patterns cannot be bounded in time; use $in with the values meant",
  $where: "code is never run",
  $expr: "attributes are compared with values, not with each other",
  $elemMatch: "a condition on a list already holds if any element satisfies it",
};

/** Throws Problem invalid_filter or filter_too_large. `at` is the JSON pointer of the value in the request. */
export function parseFilter(value: unknown, at = "/retrieval"): Filter {
  const query = parseQuery(value, { pointer: at, depth: 1, count: { tests: 0 } });
  const bytes = utf8BytesOf(JSON.stringify(value)); // only now: a query that parses is not too deep for stringify
  if (bytes > FILTER_BYTES_MAX) throw tooLarge(at, `has ${bytes} bytes of JSON; at most ${FILTER_BYTES_MAX}`);
  return query;
}

type Place = {
  readonly pointer: string;
  readonly depth: number;
  /** The number of tests parsed so far in the whole query; shared by all places. */
  readonly count: { tests: number };
};

function parseQuery(value: unknown, place: Place): Filter {
  const entries = entriesOf(value, place, 'a query is an object such as {"category": "shoes"}');
  return and(entries.map(([key, sent]) => parseEntry(key, sent, at(place, key))));
}

function parseEntry(key: string, sent: unknown, place: Place): Filter {
  if (!key.startsWith("$")) return parseAttribute({ name: key, pointer: place.pointer }, sent, place);
  if (key === "$not") return { kind: "not", of: parseQuery(sent, deeper(place)) };
  if (key !== "$and" && key !== "$or" && key !== "$nor") throw unknownOperator(key, place, CONNECTIVES);
  if (!Array.isArray(sent)) throw invalid(place, `must be a list of queries, found ${shown(sent)}`);
  if (sent.length === 0) throw invalid(place, "must not be empty: leave it out to restrict nothing");
  if (sent.length > FILTER_TESTS_MAX)
    throw tooLarge(place.pointer, `has ${sent.length} queries; at most ${FILTER_TESTS_MAX}`);
  const of = sent.map((query: unknown, i) => parseQuery(query, deeper(at(place, i))));
  if (key === "$and") return and(of);
  const either: Filter = of.length === 1 ? of[0]! : { kind: "or", of };
  return key === "$or" ? either : { kind: "not", of: either };
}

/** An attribute, and its place in the request. */
type Attribute = { readonly name: string; readonly pointer: string };

/** A condition, or one that waits for the values of its references. Its form is checked with values that stand for them. */
function parseAttribute(attribute: Attribute, sent: unknown, place: Place): Filter {
  if (!hasReference(sent)) return parseCondition(attribute, sent, place);
  const references: Reference[] = [];
  const checked = withReplaced(sent, place.pointer, (reference) => {
    references.push(reference);
    return reference.fallback ?? Number.NaN;
  });
  parseCondition(attribute, checked, place);
  return {
    kind: "referring",
    attribute: attribute.name,
    pointer: attribute.pointer,
    references,
    withValues: (valueFor) =>
      parseCondition(attribute, withReplaced(sent, place.pointer, valueFor), { ...place, count: { tests: 0 } }),
  };
}

function parseCondition(attribute: Attribute, sent: unknown, place: Place): Filter {
  if (Array.isArray(sent))
    throw invalid(place, 'must be a value or an object of operators; for a list of values write {"$in": […]}');
  if (typeof sent !== "object" || sent === null) return isIn(attribute, [scalarOf(sent, place)], counted(place));
  const entries = entriesOf(sent, place, "a condition is a value or an object of operators");
  if (entries.length === 0) return not(isIn(attribute, [], counted(place))); // always holds, but an unknown attribute is still found
  return and(entries.map(([operator, operand]) => parseTest(attribute, { operator, operand }, at(place, operator))));
}

type SentTest = { readonly operator: string; readonly operand: unknown };

function parseTest(attribute: Attribute, { operator, operand }: SentTest, place: Place): Filter {
  switch (operator) {
    case "$eq":
      return isIn(attribute, [scalarOf(operand, place)], counted(place));
    case "$ne":
      return not(isIn(attribute, [scalarOf(operand, place)], counted(place)));
    case "$in":
      return isIn(attribute, listOf(operand, place), counted(place));
    case "$nin":
      return not(isIn(attribute, listOf(operand, place), counted(place)));
    case "$all": {
      const values = listOf(operand, counted(place));
      if (values.length === 0) return isIn(attribute, [], place);
      return and(values.map((value, i) => isIn(attribute, [value], at(place, i))));
    }
    case "$exists": {
      if (typeof operand !== "boolean") throw invalid(place, `must be true or false, found ${shown(operand)}`);
      const isMissing = isIn(attribute, [null], counted(place));
      return operand ? not(isMissing) : isMissing;
    }
    case "$near": {
      const circle = checkedNumbers(operand, counted(place).pointer, CIRCLE_BOUNDS);
      return { kind: "near", ...circle, ...testPlace(attribute, place) };
    }
    case "$not":
      return not(parseCondition(attribute, operand, deeper(place)));
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      return compare(attribute, { operator, operand }, counted(place));
    default:
      throw operator.startsWith("$")
        ? unknownOperator(operator, place, OPERATORS)
        : invalid(place, `is not an operator; known are ${OPERATORS.join(" ")}, and attributes have no members`);
  }
}

function compare(attribute: Attribute, test: SentTest & { operator: OrderOperator }, place: Place): Filter {
  const value = scalarOf(test.operand, place);
  if (typeof value !== "string" && typeof value !== "number")
    throw invalid(place, `must be a number or text, which have an order, found ${shown(value)}`);
  return { kind: "compare", operator: test.operator, value, ...testPlace(attribute, place) };
}

const isIn = (attribute: Attribute, values: readonly Scalar[], place: Place): Filter => ({
  kind: "in",
  values,
  ...testPlace(attribute, place),
});

const testPlace = ({ name, pointer }: Attribute, place: Place): TestPlace => ({
  attribute: name,
  pointer,
  path: place.pointer.slice(pointer.length),
});

/** Counts the test at a place and returns the place. */
function counted(place: Place): Place {
  place.count.tests++;
  if (place.count.tests > FILTER_TESTS_MAX)
    throw tooLarge(place.pointer, `is test number ${place.count.tests}; at most ${FILTER_TESTS_MAX}`);
  return place;
}

function listOf(operand: unknown, place: Place): Scalar[] {
  if (!Array.isArray(operand)) throw invalid(place, `must be a list of values, found ${shown(operand)}`);
  if (operand.length > FILTER_VALUES_MAX)
    throw tooLarge(place.pointer, `has ${operand.length} values; at most ${FILTER_VALUES_MAX}`);
  return operand.map((value: unknown, i) => scalarOf(value, at(place, i)));
}

function scalarOf(value: unknown, place: Place): Scalar {
  if (value === null || typeof value === "boolean") return value;
  // NaN, which JSON does not have, stands for a value that is not known yet, and for a user's id where no number is that id.
  if (typeof value === "number" && Math.abs(value) !== Infinity) return value;
  if (typeof value === "string" && value.isWellFormed()) return value;
  if (typeof value === "string") throw invalid(place, "must be well-formed Unicode, without lone surrogates");
  throw invalid(place, `must be text, a number, true, false or null, found ${shown(value)}`);
}

function entriesOf(value: unknown, place: Place, hint: string): [string, unknown][] {
  if (Array.isArray(value) || typeof value !== "object" || value === null)
    throw invalid(place, `must be an object, found ${shown(value)}: ${hint}`);
  if (place.depth > FILTER_DEPTH_MAX)
    throw tooLarge(place.pointer, `is level ${place.depth}; at most ${FILTER_DEPTH_MAX}`);
  return Object.entries(value);
}

const and = (of: readonly Filter[]): Filter => (of.length === 1 ? of[0]! : { kind: "and", of });
const not = (of: Filter): Filter => ({ kind: "not", of });

const at = (place: Place, key: string | number): Place => ({ ...place, pointer: place.pointer + pointerStep(key) });
const deeper = (place: Place): Place => ({ ...place, depth: place.depth + 1 });

const invalid = (place: Place, message: string) => filterProblem("invalid_filter", place.pointer, message);
const tooLarge = (pointer: string, message: string) => filterProblem("filter_too_large", pointer, message);

function unknownOperator(operator: string, place: Place, known: readonly string[]): Problem {
  const reason = REFUSED[operator];
  if (reason) return invalid(place, `is not supported: ${reason}`);
  const hint = didYouMean(operator, [...known, ...REFERENCES]);
  return invalid(place, `is not an operator here${hint}; known are ${known.join(" ")}`);
}
