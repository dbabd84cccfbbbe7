/**
 * What a training run by pushdown takes of a warehouse and of the trainer, by calculation from measured constants. The queries are those
 * that a run sends, with their results (`warehouse.ts`).
 */

/** Bytes that BigQuery counts for a value (its reference of data types): a text has two more than its UTF-8. */
export const VALUE_BYTES = { INTEGER: 8, FLOAT: 8, TIMESTAMP: 8, BOOLEAN: 1, STRING: 2 } as const;

/** A query of a run, as measured with few rows. */
export type SentQuery = {
  /** What it is for, such as `records`. */
  readonly kind: string;
  /** Rows and bytes of the result, per row of the table. */
  readonly resultRows: number;
  readonly resultBytes: number;
};

export type WarehousePrices = {
  readonly perTebibyteRead: number;
  readonly perSlotHour: number;
};

/** CPU time in µs of one row. */
export type MeasuredPace = {
  /** In the store, by the kind of the query. */
  readonly store: Readonly<Record<string, number>>;
  /** In the store, for leaving out a row of another slice. */
  readonly slice: number;
  /** In the trainer: for reading and staging a row of a result, and for sorting and packing one of the records. */
  readonly read: number;
  readonly sort: number;
};

export type WarehouseTable = {
  readonly rows: number;
  /** Bytes that a query reads of each row. */
  readonly rowBytes: number;
  /** The largest number of rows of the sample, which memory limits. */
  readonly sampleRowsMax: number;
  /** The largest number of rows of records in one result. */
  readonly recordRowsMax: number;
};

export type WarehouseUse = {
  readonly queries: number;
  readonly slices: number;
  readonly bytesBilled: number;
  readonly slotSeconds: number;
  readonly resultBytesMax: number;
  /** The time of the trainer without fitting. */
  readonly trainerSeconds: number;
  readonly onDemandDollars: number;
  readonly slotDollars: number;
};

/** Each query reads the table's four columns once. Slices of records each read all rows, and group only their own. */
export function warehouseUse(
  { rows, rowBytes, sampleRowsMax, recordRowsMax }: WarehouseTable,
  sent: readonly SentQuery[],
  { pace, prices }: { readonly pace: MeasuredPace; readonly prices: WarehousePrices },
): WarehouseUse {
  const slices = Math.max(1, Math.ceil(rows / recordRowsMax));
  let [queries, storeMicros, trainerMicros, resultBytesMax] = [0, 0, 0, 0];
  for (const { kind, resultRows, resultBytes } of sent) {
    const times = kind === "records" ? slices : 1;
    queries += times;
    storeMicros += rows * (pace.store[kind] ?? 0) + (times - 1) * rows * pace.slice;
    const read = kind === "interactions" ? Math.min(rows * resultRows, sampleRowsMax) : rows * resultRows;
    trainerMicros += read * (pace.read + (kind === "records" ? pace.sort : 0));
    resultBytesMax = Math.max(resultBytesMax, (read / times) * (resultBytes / (resultRows || 1)));
  }
  const bytesBilled = queries * rows * rowBytes;
  const slotSeconds = storeMicros / 1e6;
  return {
    queries,
    slices,
    bytesBilled,
    slotSeconds,
    resultBytesMax,
    trainerSeconds: trainerMicros / 1e6,
    onDemandDollars: (bytesBilled / 2 ** 40) * prices.perTebibyteRead,
    slotDollars: (slotSeconds / 3600) * prices.perSlotHour,
  };
}
