/** Of the memory of a reading. The rest is Node's and what the chunks on their way hold. */
const STAGING_SHARE = 0.3;
const DATASET_SHARE = 0.5;
/** Bytes of one interaction. Items are counted twice, since the catalog is reordered before a fit. */
const BYTES = { Binary: 13, Rating: 17 } as const;

export type LabelType = keyof typeof BYTES;

/** MB that the staging database may take. */
export const stagingMb = (memoryMbMax: number): number => memoryMbMax * STAGING_SHARE;

/** MB that interactions may take. */
export const interactionMb = (memoryMbMax: number): number => memoryMbMax * DATASET_SHARE;

/** MB that so many interactions take. */
export const mbOfInteractions = (count: number, label: LabelType): number => (count * BYTES[label]) / 1e6;

/** How many interactions a run takes into memory at most. */
export const interactionsThatFit = (memoryMbMax: number, label: LabelType): number =>
  Math.floor((interactionMb(memoryMbMax) * 1e6) / BYTES[label]);
