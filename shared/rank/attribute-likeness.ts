import { forEachKey } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import type { Likeness } from "./diversify.ts";

/** The columns whose equal values make items alike. Equal prices, times or titles hardly do. */
export const describingColumns = (table: AttributeTable): TableColumn[] =>
  [...table.columns.values()].filter(({ type }) => ["Boolean", "Category", "CategoryList"].includes(type));

/** A value that several entries of the pool have. */
type SharedValue = { readonly positions: readonly number[]; readonly weight: number };

/**
 * Cosine of the attribute values that two items share. A value weighs the more, the fewer items of the pool have it; a value of a single
 * item weighs nothing.
 */
export function attributeLikeness(table: AttributeTable, pool: readonly ItemIndex[]): Likeness {
  const valuesAt = pool.map((): SharedValue[] => []);
  for (const column of describingColumns(table)) {
    const positionsByKey = new Map<number, number[]>();
    for (const [at, item] of pool.entries())
      forEachKey(column, item, (key) => {
        const positions = positionsByKey.get(key);
        if (positions) positions.push(at);
        else positionsByKey.set(key, [at]);
      });
    for (const positions of positionsByKey.values()) {
      if (positions.length === 1) continue;
      const value = { positions, weight: Math.log(1 + pool.length / positions.length) ** 2 };
      for (const at of positions) valuesAt[at]!.push(value);
    }
  }
  const lengths = valuesAt.map((values) => Math.sqrt(values.reduce((sum, { weight }) => sum + weight, 0)));
  const likeness = new Float64Array(pool.length);
  return (at) => {
    likeness.fill(0);
    for (const { positions, weight } of valuesAt[at]!)
      for (const other of positions) likeness[other]! += weight / (lengths[at]! * lengths[other]!);
    return likeness;
  };
}
