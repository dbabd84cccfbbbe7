/** How the memory of a reading is divided. Node and the chunks that are on their way take the rest. */
const STAGING_FRACTION = 0.3;
const DATASET_FRACTION = 0.5;
/** Bytes of one interaction. Items are counted twice, since the catalog is reordered before a fit. */
const BYTES = { Binary: 13, Rating: 17, Weight: 17 } as const;

export type LabelType = keyof typeof BYTES;

/** MB that the staging database may take. */
export const stagingMb = (memoryMbMax: number): number => memoryMbMax * STAGING_FRACTION;

/** MB that interactions may take. */
export const interactionMb = (memoryMbMax: number): number => memoryMbMax * DATASET_FRACTION;

export const mbOfInteractions = (count: number, label: LabelType): number => (count * BYTES[label]) / 1e6;

/** The largest number of interactions that a run takes into memory. */
export const interactionsThatFit = (memoryMbMax: number, label: LabelType): number =>
  Math.floor((interactionMb(memoryMbMax) * 1e6) / BYTES[label]);
