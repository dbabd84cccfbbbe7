import { fitSeconds } from "../../choose/budget.ts";
import type { ConnectorType } from "../../read/connectors/connector-config.ts";
import type { StagedTable, Staging } from "../../read/dataset/staging.ts";
import { meanRowBytes } from "./dry-run-sample.ts";

/** Estimates of the interaction query. */
export type QueryEstimate = {
  readonly rows: number | null;
  readonly bytes: number | null;
  /** Whether the sample is the whole query. */
  readonly isWhole: boolean;
  /** The `type` of the connector that reads the rows. */
  readonly connectorType: string;
  /** The operator's limit for choosing a model. */
  readonly fitSecondsMax: number;
};

/** Rows and seconds of a training; null when the number of rows is unknown. */
export async function predictTraining(staging: Staging, sample: StagedTable, estimate: QueryEstimate) {
  const rows = estimate.isWhole ? sample.rows : (estimate.rows ?? (await rowsByBytes(staging, sample, estimate)));
  return rows === null ? null : { rows, seconds: predictedSeconds({ ...estimate, rows }) };
}

/** BigQuery estimates no rows, but the bytes of the columns that the query reads. Bytes of files include other columns. */
async function rowsByBytes(staging: Staging, sample: StagedTable, { bytes, connectorType }: QueryEstimate) {
  if (connectorType !== "BigQuery" || bytes === null) return null;
  const rowBytes = await meanRowBytes(staging, sample);
  return rowBytes === 0 ? null : Math.round(bytes / rowBytes);
}

/**
 * Rows per second from the store to the trainer's disk: the magnitude that `npm run bench -- postgres bigquery scale`
 * measures on a fast machine. BigQuery's figure was measured on a stand-in server.
 */
const ROWS_PER_SECOND: Readonly<Record<ConnectorType, number>> = {
  File: 600_000,
  Postgres: 128_000,
  BigQuery: 150_000,
};
/** Rows per second of numbering, histories, user records and publishing together. */
const DATASET_ROWS_PER_SECOND = 250_000;
/** Time to start the processes and to upload the files. */
const BASE_SECONDS = 5;
/** Small data are evaluated in about a minute per hundred thousand rows; large data are limited by the time budget. */
const FIT_SECONDS_PER_ROW = 6e-4;
/** The choice takes one time budget, and the refit on all data takes up to 0.4 of another. */
const BUDGETS = 1.4;

/** Seconds of a whole run, correct within a factor of two or three: the machine and the shape of the data decide the rest. */
export function predictedSeconds({
  rows,
  connectorType,
  fitSecondsMax,
}: Pick<QueryEstimate, "connectorType" | "fitSecondsMax"> & { readonly rows: number }): number {
  const known: Readonly<Record<string, number>> = ROWS_PER_SECOND;
  const read = rows / (known[connectorType] ?? Math.min(...Object.values(known)));
  const fit = Math.min(BUDGETS * fitSeconds(rows, fitSecondsMax), FIT_SECONDS_PER_ROW * rows);
  return Math.ceil(BASE_SECONDS + read + rows / DATASET_ROWS_PER_SECOND + fit);
}
