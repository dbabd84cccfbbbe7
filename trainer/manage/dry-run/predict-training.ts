import { fitSeconds } from "../../choose/fit-seconds.ts";
import type { ConnectorType } from "../../read/connectors/connector-config.ts";

/** What a training would take, said before anything is trained. */
export type TrainingSize = {
  /** Rows of the interaction query. */
  readonly rows: number;
  /** The `type` of the connector that gives them. */
  readonly connectorType: string;
  /** Of the operator's settings: time for choosing a model; the refit may take part of it again. */
  readonly fitSecondsMax: number;
};

/**
 * Rows a second from the store to the trainer's disk, of the order that `npm run bench -- postgres bigquery scale` measures on a quick
 * machine; BigQuery's is of a stand-in.
 */
const ROWS_PER_SECOND: Readonly<Record<ConnectorType, number>> = {
  File: 600_000,
  Postgres: 128_000,
  BigQuery: 150_000,
};
/** Of numbering, histories, user records and publishing. */
const DATASET_ROWS_PER_SECOND = 250_000;
/** Processes that start, files that are sent. */
const BASE_SECONDS = 5;
/** Small data are judged in about a minute for each hundred thousand rows; large ones by the budget. */
const FIT_SECONDS_PER_ROW = 6e-4;
/** The choice has a budget; the refit on all data takes part of another one. */
const BUDGETS = 1.4;

/** Seconds of a whole run, to within a factor of two or three: the machine and the data's shape decide the rest. */
export function predictedSeconds({ rows, connectorType, fitSecondsMax }: TrainingSize): number {
  const known: Readonly<Record<string, number>> = ROWS_PER_SECOND;
  const read = rows / (known[connectorType] ?? Math.min(...Object.values(known)));
  const fit = Math.min(BUDGETS * fitSeconds(rows, fitSecondsMax), FIT_SECONDS_PER_ROW * rows);
  return Math.ceil(BASE_SECONDS + read + rows / DATASET_ROWS_PER_SECOND + fit);
}
