import { DuckDBDecimalType, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { ID_BYTES_MAX, type ItemIdType } from "../../../shared/ids.ts";
import { INTEGERS, TIMES } from "./column-kinds.ts";
import { type IdReading, type IdRule, idReason, WORD_MARK } from "./dialect.ts";

/** How DuckDB reads a column of ids. Keys are of a type that is cheap to compare. */
export type IdExpression = IdRule & {
  /** SQL of the id's canonical form as a VARCHAR, computed from SQL of a key. */
  text(key: string): string;
  /** Whether a value is a whole number, where only the values decide whether ids are integers; else null. */
  readonly isIntegral: string | null;
  /** How ids look in answers; where isIntegral is not null, provided that it holds for every value. */
  readonly jsonType: ItemIdType;
};

const AS_TEXT: ReadonlySet<DuckDBTypeId> = new Set([...TIMES, DuckDBTypeId.BOOLEAN, DuckDBTypeId.UUID]);

/**
 * How to read a column of a type as ids; undefined when such values cannot be ids (lists, structs, …).
 *
 * @param column SQL of the column.
 */
export function idExpression(column: string, type: DuckDBType, reading: IdReading): IdExpression | undefined {
  const { which, keepsNullWords, trims } = reading;
  const missing = `WHEN ${column} IS NULL THEN 'missing_${which}'`;
  const plain = { key: column, isIntegral: null, reason: idReason(column, reading), text: asVarchar };
  const isInteger = INTEGERS.has(type.typeId) || (type instanceof DuckDBDecimalType && type.scale === 0);
  if (isInteger) return { ...plain, jsonType: "integer" };
  if (AS_TEXT.has(type.typeId)) return { ...plain, jsonType: "string" };
  switch (type.typeId) {
    case DuckDBTypeId.VARCHAR:
    case DuckDBTypeId.ENUM: {
      const given = type.typeId === DuckDBTypeId.ENUM ? asVarchar(column) : column;
      const key = trims ? `trim(${given})` : given;
      return { ...plain, key, text: (text) => text, reason: reasonOfText(key, reading), jsonType: "string" };
    }
    case DuckDBTypeId.BIGNUM:
      return { ...plain, reason: reasonOfText(asVarchar(column), reading), jsonType: "integer" };
    case DuckDBTypeId.BLOB:
      return {
        ...plain,
        text: (key) => `to_base64(${key})`,
        reason: `CASE ${missing} WHEN octet_length(${column}) = 0 THEN 'missing_${which}'
          WHEN octet_length(${column}) > ${(ID_BYTES_MAX / 4) * 3} THEN 'id_too_long' END`,
        jsonType: "string",
      };
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE: {
      const noNumber = keepsNullWords ? "" : `WHEN isnan(${column}) THEN 'missing_${which}${WORD_MARK}NaN'`;
      const exactMax = type.typeId === DuckDBTypeId.FLOAT ? 2 ** 24 - 1 : Number.MAX_SAFE_INTEGER;
      return {
        key: column, // −0 and 0 are equal, and both are written 0
        text: (key) =>
          `CASE WHEN ${key} = trunc(${key}) THEN ${asVarchar(`TRY_CAST(${key} AS BIGINT)`)} ELSE ${asVarchar(key)} END`,
        // A larger number represents several integers, which would merge two ids.
        reason: `CASE ${missing} ${noNumber} WHEN NOT isfinite(${column}) THEN 'id_not_finite'
          WHEN abs(${column}) > ${exactMax} THEN 'id_not_exact' END`,
        isIntegral: `(${column} = trunc(${column}))`,
        jsonType: "integer",
      };
    }
    case DuckDBTypeId.DECIMAL:
      return {
        ...plain,
        text: (key) => `rtrim(rtrim(${asVarchar(key)}, '0'), '.')`,
        isIntegral: `${column} = trunc(${column})`,
        jsonType: "integer",
      };
    default:
      return undefined;
  }
}

/** SQL of the text that a training by default uses for the id in a column of this type; NULL for a value that is no id. */
export function idText(column: string, type: DuckDBType): string {
  const id = idExpression(column, type, { which: "user", keepsNullWords: false, trims: false });
  return id === undefined ? "NULL" : `CASE WHEN (${id.reason}) IS NULL THEN ${id.text(id.key)} END`;
}

/** The same ids where keys are their texts already. */
export const ofText = (id: IdExpression): IdExpression => ({ ...id, text: (key) => key });

const asVarchar = (value: string) => `CAST(${value} AS VARCHAR)`;

const reasonOfText = (text: string, reading: IdReading) =>
  idReason(text, reading, { text, bytes: `strlen(${text})`, hasNul: `contains(${text}, chr(0))` });
