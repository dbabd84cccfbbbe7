import { type DuckDBDataChunk, type DuckDBType, type Json, JsonDuckDBValueConverter } from "@duckdb/node-api";
import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import type { ConnectorSettings } from "../../settings.ts";
import type { FetchedEvents } from "./events/fetch-events.ts";

/** One kind of store from which rows are read. Only its own folder knows the kind. */
export interface Connector {
  /** Columns and estimates of a query, without reading its rows. Throws StageError. */
  inspect(query: string, signal: AbortSignal): Promise<Inspection>;
  read(query: string, options: ReadOptions): Promise<SourceRows>;
  /** What was guessed or left out in what has been read so far, one sentence each, for the warnings of the record. Absent: nothing. */
  notes?(): readonly string[];
  close(): Promise<void>;
}

export type Inspection = {
  readonly columns: readonly SourceColumn[];
  readonly estimatedRows: number | null;
  readonly estimatedBytes: number | null;
  readonly estimatedCostUsd: number | null;
};

export type ReadOptions = {
  readonly signal: AbortSignal;
  /** Names of the columns to read, in this order. Absent: all columns of the query. */
  readonly columns?: readonly string[];
  /** The largest count of rows, in the store's order. Absent: all rows. */
  readonly limit?: number;
  /** Epoch milliseconds. Rows of files that were last written before may be left out. Absent: none. */
  readonly writtenSinceMs?: number;
};

/** One column of a query's result, with DuckDB's type: all connectors give rows as DuckDB's chunks. */
export type SourceColumn = {
  readonly name: string;
  readonly type: DuckDBType;
  /** The store's name of the type, where it is known and several types arrive as one. */
  readonly native?: string;
};

/** A query's result. */
export type SourceRows = {
  readonly columns: readonly SourceColumn[];
  /** Rows in the store's order, read lazily, at most 2048 per chunk. Throws StageError; never yields a part of a row. */
  readonly chunks: AsyncIterable<DuckDBDataChunk>;
  /** For the progress; null when the store does not know it in advance. */
  readonly expectedRows: number | null;
  /** Counts of rows that could not be read, by reason. Known once `chunks` has ended. Absent: none. */
  readonly unreadable?: () => Readonly<Record<string, number>>;
  /** The store's name of this reading, such as a job id, for the record of the run. */
  readonly origin?: string;
};

/** What a connector knows besides its own configuration. The operator decides it, never the request. */
export type ConnectorContext = {
  readonly customer: string;
  readonly settings: ConnectorSettings;
  /** Names of the queries' columns that are ids: files of texts are read so that their ids stay as they are written. */
  readonly idColumns?: readonly string[];
  /** The customer's events, for a model that listens to them. */
  readonly events?: FetchedEvents | undefined;
};

/** All rows of a small result by column name, as plain JSON values. */
export async function jsonRows({ columns, chunks }: SourceRows): Promise<Record<string, Json>[]> {
  const rows: Record<string, Json>[] = [];
  for await (const chunk of chunks)
    for (const row of chunk.convertRows(JsonDuckDBValueConverter))
      rows.push(Object.fromEntries(columns.map(({ name }, i) => [name, row[i] ?? null])));
  return rows;
}

/** Opens a store. Throws StageError when the configuration is wrong or the store cannot be reached. */
export type ConnectorFactory = (config: ConnectorConfig, context: ConnectorContext) => Promise<Connector>;
