import type { DuckDBDataChunk, DuckDBType } from "@duckdb/node-api";

/** One column of a query's result, in the order of the result. Types are DuckDB's: the interchange of the trainer. */
export type SourceColumn = {
  readonly name: string;
  readonly type: DuckDBType;
  /** What the store calls the type, where it is told and several arrive as one. */
  readonly native?: string;
};

/** A query's result. */
export type SourceRows = {
  readonly columns: readonly SourceColumn[];
  /** Rows in the store's own order, read lazily, at most 2048 per chunk. Throws StageError; never yields half a row. */
  readonly chunks: AsyncIterable<DuckDBDataChunk>;
  /** For progress; null when the store does not tell beforehand. */
  readonly expectedRows: number | null;
  /** Once `chunks` has ended: rows that the store held but could not give, by reason. None when absent. */
  readonly unreadable?: () => Readonly<Record<string, number>>;
  /** What the store calls this reading, such as its job id: for the record of the run. */
  readonly origin?: string;
};
