import { DuckDBDecimalType, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { ID_BYTES_MAX, type ItemIdType } from "../../../shared/ids.ts";
import { INTEGERS, TIMES } from "./column-kinds.ts";

/** How SQL reads an id column. Equal keys are equal ids; the text is the id's canonical form. */
export type IdExpression = {
  /** Of the column: a value of a type that is cheap to compare. */
  readonly key: string;
  /** Of a key, named `key`: VARCHAR. */
  readonly text: string;
  /** Of the column: why a value is no id, or NULL. */
  readonly reason: string;
  /** What to ask the whole column before `jsonType` is known: whether every value is integral. Null: it is known. */
  readonly isIntegral: string | null;
  readonly jsonType: ItemIdType;
};

const AS_TEXT: ReadonlySet<DuckDBTypeId> = new Set([...TIMES, DuckDBTypeId.BOOLEAN, DuckDBTypeId.UUID]);

/**
 * The expression for an id column of a type, or undefined when such values cannot be ids (lists, structs, …).
 *
 * @param column SQL of the column.
 * @param which Word of the reason for a missing one: `missing_user` or `missing_item`.
 */
export function idExpression(column: string, type: DuckDBType, which: "user" | "item"): IdExpression | undefined {
  const missing = `WHEN ${column} IS NULL THEN 'missing_${which}'`;
  const plain = { key: column, isIntegral: null, reason: `CASE ${missing} END` };
  if (INTEGERS.has(type.typeId)) return { ...plain, text: "CAST(key AS VARCHAR)", jsonType: "integer" };
  if (AS_TEXT.has(type.typeId)) return { ...plain, text: "CAST(key AS VARCHAR)", jsonType: "string" };
  switch (type.typeId) {
    case DuckDBTypeId.VARCHAR:
      return { ...plain, text: "key", reason: `CASE ${missing} ${textFaults(column, which)} END`, jsonType: "string" };
    case DuckDBTypeId.ENUM:
    case DuckDBTypeId.BIGNUM: {
      const reason = `CASE ${missing} ${textFaults(`CAST(${column} AS VARCHAR)`, which)} END`;
      const jsonType = type.typeId === DuckDBTypeId.ENUM ? "string" : "integer";
      return { ...plain, text: "CAST(key AS VARCHAR)", reason, jsonType };
    }
    case DuckDBTypeId.BLOB:
      return {
        ...plain,
        text: "to_base64(key)",
        reason: `CASE ${missing} WHEN octet_length(${column}) = 0 THEN 'missing_${which}'
          WHEN octet_length(${column}) > ${(ID_BYTES_MAX / 4) * 3} THEN 'id_too_long' END`,
        jsonType: "string",
      };
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE: {
      const exactMax = type.typeId === DuckDBTypeId.FLOAT ? 2 ** 24 - 1 : Number.MAX_SAFE_INTEGER;
      return {
        key: column, // −0 and 0 are equal, and both are written 0
        text: `CASE WHEN key = trunc(key) THEN CAST(TRY_CAST(key AS BIGINT) AS VARCHAR) ELSE CAST(key AS VARCHAR) END`,
        // Beyond these each stands for several integers: two ids would be one.
        reason: `CASE ${missing} WHEN NOT isfinite(${column}) THEN 'id_not_finite'
          WHEN abs(${column}) > ${exactMax} THEN 'id_not_exact' END`,
        isIntegral: `(${column} = trunc(${column}))`,
        jsonType: "integer",
      };
    }
    case DuckDBTypeId.DECIMAL: {
      const scale = type instanceof DuckDBDecimalType ? type.scale : 0;
      if (scale === 0) return { ...plain, text: "CAST(key AS VARCHAR)", jsonType: "integer" };
      return {
        ...plain,
        text: "rtrim(rtrim(CAST(key AS VARCHAR), '0'), '.')",
        isIntegral: `${column} = trunc(${column})`,
        jsonType: "integer",
      };
    }
    default:
      return undefined;
  }
}

const textFaults = (text: string, which: "user" | "item") => `WHEN ${text} = '' THEN 'missing_${which}'
  WHEN strlen(${text}) > ${ID_BYTES_MAX} THEN 'id_too_long'
  WHEN contains(${text}, chr(0)) THEN 'id_has_nul'`;
