import { FINAL_FIT_FRACTION, fitSeconds } from "../../choose/budget.ts";
import type { ConnectorType } from "../../read/connectors/connector-config.ts";

/**
 * Rows per second from the store to the trainer's disk: the magnitude that `npm run bench -- postgres bigquery scale`
 * measures on a fast machine. BigQuery's figure was measured on a stand-in server.
 */
const ROWS_PER_SECOND: Readonly<Record<ConnectorType, number>> = {
  File: 600_000,
  Events: 300_000,
  Postgres: 128_000,
  BigQuery: 150_000,
};
/** Rows per second of numbering, histories, user records and publishing together. */
const DATASET_ROWS_PER_SECOND = 250_000;
/** Time to start the processes and to upload the files. */
const BASE_SECONDS = 5;
/** Small data are evaluated in about a minute per hundred thousand rows; large data are limited by the time budget. */
const FIT_SECONDS_PER_ROW = 6e-4;

type Prediction = {
  readonly rows: number;
  /** The `type` of the connector that reads the rows. */
  readonly connectorType: string;
  /** The operator's limit for choosing a model. */
  readonly fitSecondsMax: number;
};

/** Seconds of a whole run, correct within a factor of two or three: the machine and the shape of the data decide the rest. */
export function predictedSeconds({ rows, connectorType, fitSecondsMax }: Prediction): number {
  const known: Readonly<Record<string, number>> = ROWS_PER_SECOND;
  const read = rows / (known[connectorType] ?? Math.min(...Object.values(known)));
  const fit = Math.min((1 + FINAL_FIT_FRACTION) * fitSeconds(rows, fitSecondsMax), FIT_SECONDS_PER_ROW * rows);
  return Math.ceil(BASE_SECONDS + read + rows / DATASET_ROWS_PER_SECOND + fit);
}
