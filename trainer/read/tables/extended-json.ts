import { DuckDBListType, DuckDBStructType, type DuckDBType, LIST, STRUCT } from "@duckdb/node-api";
import { identifier, literal } from "../connectors/sql-text.ts";

export type Column = { readonly name: string; readonly type: DuckDBType };
/** A table for SQL. */
export type Rows = { readonly table: string; readonly columns: readonly Column[] };
type Value = { readonly sql: string; readonly type: DuckDBType };

/** https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/ */
const WRAPPERS = ["$oid", "$date", "$uuid", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal"];

/**
 * A table without the objects of MongoDB's extended JSON: `{"user": {"$oid": "5f…"}}` becomes `{"user": "5f…"}`, also within objects
 * and lists. The table is returned as it is where it has none.
 */
export function withoutExtendedJson({ table, columns }: Rows): Rows {
  const plain = columns.map(({ name, type }) => ({ name, value: plainValue({ sql: identifier(name), type }, 0) }));
  const replaced = plain.flatMap(({ name, value }) => (value ? [`${value.sql} AS ${identifier(name)}`] : []));
  return {
    table: replaced.length === 0 ? table : `(SELECT * REPLACE (${replaced.join(", ")}) FROM ${table})`,
    columns: columns.map(({ name, type }, i) => ({ name, type: plain[i]!.value?.type ?? type })),
  };
}

/** Undefined where nothing is to be changed. `depth` names the variables of nested lambdas. */
function plainValue({ sql, type }: Value, depth: number): Value | undefined {
  if (type instanceof DuckDBListType) {
    const variable = `e${depth}`;
    const inner = plainValue({ sql: variable, type: type.valueType }, depth + 1);
    return inner && { sql: `list_transform(${sql}, ${variable} -> ${inner.sql})`, type: LIST(inner.type) };
  }
  if (!(type instanceof DuckDBStructType)) return undefined;
  const fields = type.entryNames.map((name, i) => {
    const field = { sql: `struct_extract(${sql}, ${literal(name)})`, type: type.entryTypes[i] as DuckDBType };
    return { name, field, plain: plainValue(field, depth) };
  });
  const [only] = fields;
  if (fields.length === 1 && WRAPPERS.includes(only!.name)) return only!.plain ?? only!.field;
  if (fields.every(({ plain }) => plain === undefined)) return undefined;
  const values = fields.map(({ name, field, plain }) => [name, plain ?? field] as const);
  const packed = values.map(([name, value]) => `${identifier(name)} := ${value.sql}`).join(", ");
  return {
    sql: `CASE WHEN ${sql} IS NOT NULL THEN struct_pack(${packed}) END`,
    type: STRUCT(Object.fromEntries(values.map(([name, value]) => [name, value.type]))),
  };
}
