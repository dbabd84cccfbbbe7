import { forEachKey, storedValueAt } from "../../shared/attribute-values.ts";
import type { AttributeColumn, AttributeTable, TableColumn } from "../../shared/attributes.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { stringAt } from "../../shared/packed-strings.ts";

/** The attributes of some items of a version, in the form that methods learn from. Places are left out, since no method reads them. */
export const columnsOf = ({ columns }: AttributeTable, items: readonly ItemIndex[]): AttributeColumn[] =>
  [...columns].flatMap(([name, column]) => columnOf(name, column, items) ?? []);

function columnOf(name: string, column: TableColumn, items: readonly ItemIndex[]): AttributeColumn | undefined {
  if (column.type === "Location") return undefined;
  if (column.type === "Boolean") {
    const codeOf = (value: unknown) => (value === null ? 255 : Number(value));
    return { name, type: column.type, values: Uint8Array.from(items, (item) => codeOf(storedValueAt(column, item))) };
  }
  if (!("dictionary" in column)) {
    const numberOf = (value: unknown) => (value === null ? Number.NaN : (value as number));
    return {
      name,
      type: column.type,
      values: Float64Array.from(items, (item) => numberOf(storedValueAt(column, item))),
    };
  }
  const codeOf = new Map<number, number>(); // by key, so that texts of other items are not read
  const start = new Uint32Array(items.length + 1);
  const codes: number[] = [];
  for (const [row, item] of items.entries()) {
    forEachKey(column, item, (key) => {
      if (!codeOf.has(key)) codeOf.set(key, codeOf.size);
      codes.push(codeOf.get(key)!);
    });
    start[row + 1] = codes.length;
  }
  const dictionary = [...codeOf.keys()].map((key) => stringAt(column.dictionary, key - 1));
  return { name, type: column.type, dictionary, start, codes: Uint32Array.from(codes) };
}
