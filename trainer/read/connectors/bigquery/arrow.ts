import { DuckDBDateValue, DuckDBListValue, DuckDBTimestampValue, type DuckDBValue } from "@duckdb/node-api";
import { DataType, type Vector } from "apache-arrow";
import { textOf } from "../../../../shared/packed-strings.ts";

/**
 * Reads a column's value by row from an Arrow vector. Times and texts are read from the raw numbers and bytes, because Arrow's own
 * getters round times and drop a U+FEFF at the beginning of a text.
 */
export function arrowReader(vector: Vector): (row: number) => DuckDBValue {
  if (DataType.isTimestamp(vector.type)) return rawReader(vector, (micros) => new DuckDBTimestampValue(BigInt(micros)));
  if (DataType.isDate(vector.type)) return rawReader(vector, (days) => new DuckDBDateValue(Number(days)));
  if (DataType.isUtf8(vector.type)) return textReader(vector);
  if (DataType.isList(vector.type))
    return (row) => {
      const elements = vector.get(row) as Vector | null; // columns.ts casts the elements to texts
      if (elements === null) return null;
      const texts = Array.from({ length: elements.length }, (_, i) => i).map(textReader(elements));
      return new DuckDBListValue(texts.filter((text) => text !== null));
    };
  return (row) => vector.get(row) as DuckDBValue;
}

function rawReader(vector: Vector, make: (value: bigint | number) => DuckDBValue): (row: number) => DuckDBValue {
  const [data] = vector.data; // one record batch has one run of values
  return (row) => (vector.isValid(row) ? make(data!.values[row] as bigint | number) : null);
}

function textReader(vector: Vector): (row: number) => DuckDBValue {
  const [data] = vector.data;
  const at = (row: number): number => data!.valueOffsets[row];
  return (row) => (vector.isValid(row) ? textOf(data!.values.subarray(at(row), at(row + 1))) : null);
}
