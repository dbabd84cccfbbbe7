/** A boost becomes a number for each item: of the items that match a filter, or by a number or a time of each item. */
import { notAnAttribute } from "../attribute-values.ts";
import type { TableColumn } from "../attributes.ts";
import { filterProblem } from "../filter/filter-problem.ts";
import type { Filter } from "../filter/parse-filter.ts";
import type { KnownNames } from "../snapshot.ts";
import type { CompiledBoost } from "./boost.ts";
import { type NumberColumn, numbersOf, scaleOfColumn } from "./column-numbers.ts";

/** `by` is in standard deviations of the scores. */
export type Boost = { readonly filter: Filter; readonly by: number } | NumberBoost;

/** `by` × the z-score of the attribute or, with a half-life, `by` × 2^(−age / half-life). */
export type NumberBoost = {
  readonly attribute: string;
  readonly halfLifeDays?: number | undefined;
  readonly by: number;
  /** The place of the boost in the request. */
  readonly pointer: string;
};

const SECONDS_PER_DAY = 86_400;

/** Throws Problem unknown_attribute, filter_type_mismatch. */
export function compileNumberBoost(boost: NumberBoost, nowSeconds: number, version: KnownNames): CompiledBoost {
  const { by, halfLifeDays } = boost;
  const column = columnOf(boost, version);
  const numberAt = numbersOf(column);
  if (halfLifeDays === undefined) {
    const { mean, deviation } = scaleOfColumn(column, version.itemCount);
    return { by, valueAt: (item) => orNone((numberAt(item) - mean) / deviation) };
  }
  const perSecond = 1 / (halfLifeDays * SECONDS_PER_DAY);
  // Of a time in the future, Math.min makes 2^0.
  return { by, valueAt: (item) => orNone(2 ** Math.min(0, (numberAt(item) - nowSeconds) * perSecond)) };
}

/** NaN adds nothing: a missing number, or the z-score where all numbers are equal. */
const orNone = (value: number): number => (Number.isNaN(value) ? 0 : value);

function columnOf({ attribute, halfLifeDays, pointer }: NumberBoost, { attributes }: KnownNames): NumberColumn {
  const at = `${pointer}/attribute`;
  const column = attributes?.columns.get(attribute);
  if (column === undefined)
    throw filterProblem("unknown_attribute", at, notAnAttribute(attribute, [...(attributes?.columns.keys() ?? [])]));
  const expected = halfLifeDays === undefined ? ["Numerical", "Timestamp"] : ["Timestamp"];
  if (isNumber(column) && expected.includes(column.type)) return column;
  const message = `must be of the type ${expected.join(" or ")}; ${JSON.stringify(attribute)} is ${column.type}`;
  throw filterProblem("filter_type_mismatch", at, message);
}

const isNumber = (column: TableColumn): column is NumberColumn => "form" in column;
