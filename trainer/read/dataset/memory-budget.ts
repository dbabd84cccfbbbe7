import { availableParallelism } from "node:os";
import { THREAD_MB } from "./staging.ts";

/** How the memory of a reading is divided. Node, chunks that are on their way, and later the copies and models of a fit take the rest. */
const STAGING_FRACTION = 0.3;
/** MB beyond which two cores stage no faster: 10^8 rows were read in 152 s with 600 MB, and in 158 s with 1,024 MB. */
const STAGING_MB = 600;
const DATASET_FRACTION = 1 / 3;
/**
 * MB that hold the smaller settings of every method for 100,000 items, and 200 MB that a process grows by when it reads. Beside 43 million
 * interactions in 2 GB 803 MB were left, and no ridge or ALS fitted.
 */
const FITS_MB = 1200;
/** Less memory leaves this part of the interactions that fit. */
const BESIDE_FITS_LEAST = 0.6;
/** The training part of a validation is a copy. */
const COPIES = 2;
/** For the staging of user records, while the dataset is in memory. With .3, 50 million rows stood at 956 of 1,000 MB. */
const RECORDS_FRACTION = 0.15;
/** Bytes of one interaction. Items are counted twice, since the catalog is reordered before a fit. */
const BYTES = { Binary: 13, Rating: 17, Weight: 17, Events: 17 } as const;

/** The same for one whose session is named: the session, and the row once more in the order of sessions. */
const SESSION_BYTES = 4 + 9;

export type RowShape = {
  readonly label: { readonly type: keyof typeof BYTES };
  readonly session_id?: string | undefined;
};

/** MB that the staging database may take. More cores may use more, since each of its threads needs some. */
export const stagingMb = (memoryMbMax: number, cores = availableParallelism()): number =>
  Math.min(memoryMbMax * STAGING_FRACTION, Math.max(STAGING_MB, cores * THREAD_MB));

/** MB that the staging database of user records may take. */
export const recordsMb = (memoryMbMax: number): number => memoryMbMax * RECORDS_FRACTION;

/** MB that interactions may take. */
export const interactionMb = (memoryMbMax: number): number => memoryMbMax * DATASET_FRACTION;

const bytesOf = ({ label, session_id }: RowShape) => BYTES[label.type] + (session_id === undefined ? 0 : SESSION_BYTES);

export const mbOfInteractions = (count: number, row: RowShape): number => (count * bytesOf(row)) / 1e6;

/** The largest number of interactions that a run takes into memory, where no sample can be prepared. */
export const interactionsThatFit = (memoryMbMax: number, row: RowShape): number =>
  Math.floor((interactionMb(memoryMbMax) * 1e6) / bytesOf(row));

/** The number up to which a run takes all interactions where their store can prepare a sample. */
export function interactionsBesideFits(memoryMbMax: number, row: RowShape): number {
  const fit = interactionsThatFit(memoryMbMax, row);
  const besideFits = ((memoryMbMax - FITS_MB) * 1e6) / (COPIES * bytesOf(row));
  return Math.floor(Math.min(fit, Math.max(BESIDE_FITS_LEAST * fit, besideFits)));
}
