import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import type { ConnectorSettings } from "../../settings.ts";
import type { SourceColumn, SourceRows } from "./source-rows.ts";

/** What a dry run tells: nothing is kept. */
export type Inspection = {
  readonly columns: readonly SourceColumn[];
  /** The first rows, at most as many as asked for, as plain JSON values. */
  readonly sample: readonly Readonly<Record<string, unknown>>[];
  readonly estimatedRows: number | null;
  readonly estimatedBytes: number | null;
  readonly estimatedCostUsd: number | null;
};

/** A way to read rows from one kind of store. The only part of the trainer that knows the kind. */
export interface Connector {
  /** With `sampleRows` 0 nothing is read but what names and types the columns. Throws StageError. */
  inspect(query: string, options: { readonly sampleRows: number; readonly signal: AbortSignal }): Promise<Inspection>;
  read(query: string, options: ReadOptions): Promise<SourceRows>;
  close(): Promise<void>;
}

export type ReadOptions = {
  readonly signal: AbortSignal;
  /** Exactly these columns of the query's, in this order, so that the store need not send the others. */
  readonly columns?: readonly string[];
  /** At most so many rows, whichever the store gives first; else all. */
  readonly limit?: number;
};

/** What a connector may know besides its own configuration. Comes from the operator, never from the request. */
export type ConnectorContext = {
  readonly customer: string;
  readonly settings: ConnectorSettings;
};

/** How a kind of store is opened. Throws StageError when the configuration is wrong or the store cannot be reached. */
export type ConnectorFactory = (config: ConnectorConfig, context: ConnectorContext) => Promise<Connector>;
