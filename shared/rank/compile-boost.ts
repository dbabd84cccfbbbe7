/** A boost becomes a number for each item: of the items that match a filter, or by a number or a time of each item. */
import { assert } from "../assert.ts";
import type { TableColumn } from "../attributes.ts";
import { filterProblem } from "../filter/filter-problem.ts";
import { namedColumn } from "../filter/named-column.ts";
import type { Filter } from "../filter/parse-filter.ts";
import { type Reference, type ReferenceValue, referenceName, withReplaced } from "../filter/references.ts";
import type { ReferenceValues } from "../filter/resolve-filter.ts";
import type { ItemIndex } from "../ids.ts";
import { checkedNumbers, closeness, NO_PLACE, PLACE_BOUNDS, type Place } from "../place.ts";
import type { KnownNames } from "../snapshot.ts";
import type { CompiledBoost } from "./boost.ts";
import { numbersOf, scaleOfColumn } from "./column-numbers.ts";

/** `by` is in standard deviations of the scores. */
export type Boost = { readonly filter: Filter; readonly by: number } | NumberBoost;

/** `by` × the z-score of the attribute, or `by` × 2^(−age / half-life), or `by` × 2^(−distance / halfKm). */
export type NumberBoost = AgeBoost | NearBoost;
type AttributeBoost = {
  readonly attribute: string;
  readonly by: number;
  /** The place of the boost in the request. */
  readonly pointer: string;
};
type AgeBoost = AttributeBoost & { readonly halfLifeDays?: number | undefined };
/** `near` is JSON of a place, whose numbers may be references. */
type NearBoost = AttributeBoost & { readonly near: unknown; readonly halfKm: number };

const SECONDS_PER_DAY = 86_400;

/** What boosts by an attribute take from the request. */
export type BoostContext = {
  readonly nowSeconds: number;
  readonly version: KnownNames;
  readonly valueFor: ReferenceValues;
  /** The names of missing references are added. */
  readonly missing: Set<string>;
};

/** Throws Problem unknown_attribute, filter_type_mismatch, invalid_filter. */
export function compileNumberBoost(boost: NumberBoost, context: BoostContext): CompiledBoost {
  const { by } = boost;
  if ("near" in boost) return { by, valueAt: nearness(boost, context) };
  const { halfLifeDays } = boost;
  const column = columnOf(boost, halfLifeDays === undefined ? ["Numerical", "Timestamp"] : ["Timestamp"], context);
  assert("form" in column, "numbers and times have a form");
  const numberAt = numbersOf(column);
  if (halfLifeDays === undefined) {
    const { mean, deviation } = scaleOfColumn(column, context.version.itemCount);
    return { by, valueAt: (item) => orNone((numberAt(item) - mean) / deviation) };
  }
  const { nowSeconds } = context;
  const perSecond = Math.LN2 / (halfLifeDays * SECONDS_PER_DAY);
  // Math.min lets a time in the future count as now.
  return { by, valueAt: (item) => orNone(Math.exp(Math.min(0, (numberAt(item) - nowSeconds) * perSecond))) };
}

function nearness(boost: NearBoost, context: BoostContext): (item: ItemIndex) => number {
  const column = columnOf(boost, ["Location"], context);
  assert(column.type === "Location", "the type was checked");
  const place = placeNear(boost, (reference) => {
    const value = context.valueFor(reference, boost.attribute) ?? reference.fallback;
    if (value === undefined) context.missing.add(referenceName(reference));
    return value ?? Number.NaN;
  });
  if (Number.isNaN(place.lat + place.lon)) return () => 0;
  const closenessAt = closeness(column, place, boost.halfKm);
  return (item) => (column.lat[item] === NO_PLACE ? 0 : closenessAt(item));
}

/** The place of a boost, with a value for each reference. Throws Problem invalid_filter. */
export function placeNear(
  { near, pointer }: Pick<NearBoost, "near" | "pointer">,
  valueFor: (reference: Reference) => ReferenceValue,
): Place {
  const at = `${pointer}/near`;
  return checkedNumbers(withReplaced(near, at, valueFor), at, PLACE_BOUNDS);
}

/** NaN adds nothing: a missing number, or the z-score where all numbers are equal. */
const orNone = (value: number): number => (Number.isNaN(value) ? 0 : value);

/** Throws Problem unknown_attribute, filter_type_mismatch. */
function columnOf(
  { attribute, pointer }: NumberBoost,
  types: readonly TableColumn["type"][],
  { version: { attributes } }: BoostContext,
): TableColumn {
  const at = `${pointer}/attribute`;
  const column = namedColumn(attributes, attribute, at);
  if (types.includes(column.type)) return column;
  const message = `must be of the type ${types.join(" or ")}; ${JSON.stringify(attribute)} is ${column.type}`;
  throw filterProblem("filter_type_mismatch", at, message);
}
