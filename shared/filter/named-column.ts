import { notAnAttribute } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
import { filterProblem } from "./filter-problem.ts";

/** The column of an attribute that the request names at a place. Throws Problem unknown_attribute. */
export function namedColumn(table: AttributeTable | null | undefined, name: string, pointer: string): TableColumn {
  const column = table?.columns.get(name);
  if (column) return column;
  const known = [...(table?.columns.keys() ?? [])];
  throw filterProblem("unknown_attribute", pointer, notAnAttribute(name, known));
}
