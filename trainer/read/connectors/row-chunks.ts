import { DuckDBDataChunk, type DuckDBType, type DuckDBValue } from "@duckdb/node-api";

const CHUNK_ROWS = 2048; // DuckDB's own size of a chunk

/** Rows as DuckDB's chunks. */
export function* rowChunks(
  types: readonly DuckDBType[],
  rowCount: number,
  valueAt: (column: number, row: number) => DuckDBValue,
): Generator<DuckDBDataChunk> {
  for (let from = 0; from < rowCount; from += CHUNK_ROWS) {
    const rows = Math.min(CHUNK_ROWS, rowCount - from);
    const chunk = DuckDBDataChunk.create(types, rows);
    for (const column of types.keys())
      chunk.setColumnValues(
        column,
        Array.from({ length: rows }, (_, row) => valueAt(column, from + row)),
      );
    yield chunk;
  }
}
