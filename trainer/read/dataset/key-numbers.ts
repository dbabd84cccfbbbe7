import type { AttributeColumn } from "./dataset.ts";

type NumberColumn = Extract<AttributeColumn, { type: "Numerical" | "Timestamp" }>;

const KEY_NAME = /^id_|(^|[_ .-])(id|code|no|nr|key|type|group|class|category|brand)$/i;

/**
 * Whether whole numbers name categories, so that 7 of `brand_id` is no more like 8 than like others.
 *
 * @param rowsMin How many rows a number must have on average: what hardly repeats says less by itself than by its range.
 */
export function areKeys({ name, type, values }: NumberColumn, rowsMin: number): boolean {
  if (type !== "Numerical" || !KEY_NAME.test(name.replace(/([a-z])([A-Z])/g, "$1_$2"))) return false;
  const known = values.filter((value) => !Number.isNaN(value));
  return known.every(Number.isInteger) && new Set(known).size * rowsMin <= known.length;
}
