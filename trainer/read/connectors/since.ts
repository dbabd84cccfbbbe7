import type { SourceRows } from "./source-rows.ts";

/** A moment that parts a query's rows, in each form that a column of times may have. */
export type Since = {
  readonly column: string;
  readonly epochSeconds: number;
  /** The same moment in a column of whole numbers, in that column's own unit. */
  readonly number: bigint;
};

/** What the rows before a moment amount to: two states of a table that differ there hardly ever agree in both. */
export type Tally = {
  readonly rows: number;
  /** Sum over the rows of their time modulo TALLY_MODULUS: microseconds since 1970, or the column's whole number. */
  readonly times: bigint;
};

/** A prime, so that every part of a time counts, and small, so that 10^12 rows do not overflow 64 bits. */
export const TALLY_MODULUS = 1_000_003;

/** A query's rows parted at a moment. Until it is asked, nothing is read of the store but the columns' types. */
export type RowsSince = {
  /** Of the rows before it. Null when the store cannot tell, since no other row is left. */
  before(): Promise<Tally | null>;
  /** Afterwards: every other row, from the moment on or without a time, of the state of the store that `before` told. */
  rows(): Promise<SourceRows>;
  /** Once all rows are read: whether the store changed meanwhile after all. Absent: it cannot. */
  hasChanged?(): Promise<boolean>;
};

/** Why a store cannot part a query's rows by time, as the end of a sentence. */
export type Unsuitable = { readonly unsuitable: string };

/** SQL conditions of a store's dialect that part rows; each row fulfils one of them. */
export type SinceSql = {
  readonly isBefore: string;
  readonly isSince: string;
  /** Of a column of such rows: the whole number that a tally adds up, before the modulus. */
  readonly number: string;
};

/** `2026-11-20 08:00:00`, in UTC. */
export const timeText = ({ epochSeconds }: Pick<Since, "epochSeconds">): string =>
  new Date(epochSeconds * 1000).toISOString().slice(0, 19).replace("T", " ");

/** `2026-11-20`: the day in UTC. Of a column of days, rows of that day are not before. */
export const dateText = ({ epochSeconds }: Pick<Since, "epochSeconds">): string =>
  new Date(epochSeconds * 1000).toISOString().slice(0, 10);

/** The usual parting of a column by a literal: NULL is not before. */
export const partedBy = (column: string, literal: string): Pick<SinceSql, "isBefore" | "isSince"> => ({
  isBefore: `${column} < ${literal}`,
  isSince: `(${column} >= ${literal} OR ${column} IS NULL)`,
});

/** The refusal of a column's type. */
export const unsuitableType = (column: string, type: string): Unsuitable => ({
  unsuitable: `its column ${JSON.stringify(column)} has the type ${type}, whose order is not that of time; make it a timestamp, a date or a whole number`,
});
