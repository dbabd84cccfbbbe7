import { forEachKey } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import type { Likeness } from "./diversify.ts";

/** The columns whose equal values make items alike. Equal prices, times or titles hardly do. */
export const describingColumns = (table: AttributeTable): TableColumn[] =>
  [...table.columns.values()].filter(({ type }) => ["Boolean", "Category", "CategoryList"].includes(type));

/**
 * Cosine of the attribute values that two items share. A value weighs the more, the fewer items of the pool have it; a value of a single
 * item weighs nothing.
 */
export function attributeLikeness(table: AttributeTable, pool: readonly ItemIndex[]): Likeness {
  const columns = describingColumns(table);
  const numbers = new Map<string, number>(); // column and key → number of the value
  const timesHeld: number[] = [];
  const valuesOf = pool.map((item) => {
    const values: number[] = [];
    for (const [at, column] of columns.entries())
      forEachKey(column, item, (key) => {
        const named = `${at} ${key}`;
        const value = numbers.get(named) ?? numbers.size;
        numbers.set(named, value);
        timesHeld[value] = (timesHeld[value] ?? 0) + 1;
        values.push(value);
      });
    return values;
  });
  const weights = timesHeld.map((times) => (times > 1 ? Math.log(1 + pool.length / times) ** 2 : 0));
  const sets = valuesOf.map((values) => new Set(values.filter((value) => weights[value]! > 0)));
  const lengths = sets.map((values) => Math.sqrt(sumOf(values, weights)));
  return (a, b) => {
    let shared = 0;
    for (const value of sets[a]!) if (sets[b]!.has(value)) shared += weights[value]!;
    return shared === 0 ? 0 : shared / (lengths[a]! * lengths[b]!);
  };
}

function sumOf(values: Iterable<number>, weights: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += weights[value]!;
  return sum;
}
