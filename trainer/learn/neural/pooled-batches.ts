import type { Histories } from "../statistics/histories.ts";
import { evenBounds, groupsWhere, shuffled } from "./batches.ts";

/** Histories split into members, which are pooled, and targets, which should be ranked first. One row per split. */
export type PooledBatch = {
  readonly rowCount: number;
  readonly memberMax: number;
  readonly targetMax: number;
  readonly members: Int32Array<ArrayBuffer>; // [rowCount * memberMax] newest first, padded with 0
  readonly memberMask: Float32Array<ArrayBuffer>; // [rowCount * memberMax] 1, or 0 for padding
  readonly targets: Int32Array<ArrayBuffer>; // [rowCount * targetMax] padded with 0
  readonly targetWeights: Float32Array<ArrayBuffer>; // [rowCount * targetMax] sum 1; 0 for padding
  readonly rowWeights: Float32Array<ArrayBuffer>; // [rowCount] sum of a row's target weights
};

/** One history split in two; members are newest first. */
export type HistorySplit = { readonly members: Int32Array; readonly targets: Int32Array };

export type SplitOptions = {
  /** Largest number of members. */
  readonly length: number;
  /** True: targets come after the members in time. False: targets are drawn from the whole history. */
  readonly ordered: boolean;
  readonly random: () => number;
};

const TARGETS_MAX = 50;
/** Entries after the members that are targets of an ordered split. */
const TARGETS_AHEAD = 5;
/** Entries of a history for each ordered split of an epoch. */
const ENTRIES_PER_SPLIT = 10;

/** The splits of one epoch, in batches of splits of similar size. */
export function* pooledEpoch(
  { start, items }: Histories,
  ends: Uint32Array,
  options: SplitOptions & { readonly cellsMax: number; readonly rowsMax: number },
): Generator<PooledBatch> {
  const splits: HistorySplit[] = [];
  for (const [user, end] of ends.entries()) {
    const entries = items.subarray(start[user]!, end);
    if (entries.length < 2) continue;
    if (!options.ordered) splits.push(splitAnywhere(entries, options));
    else {
      const count = Math.ceil(entries.length / ENTRIES_PER_SPLIT);
      for (let i = 0; i < count; i++) splits.push(splitInTime(entries, options));
    }
  }
  const { rowsMax, cellsMax, random } = options;
  const bySize = shuffled(splits, random).sort((a, b) => cellsOf(a) - cellsOf(b));
  const groups = groupsWhere(bySize, (count, last) => count <= rowsMax && count * cellsOf(last) <= cellsMax);
  for (const group of shuffled(groups, random)) yield pooledBatch(group);
}

const cellsOf = ({ members, targets }: HistorySplit) => members.length + targets.length;

/** A tenth to a half of the entries become targets, at least one. */
function splitAnywhere(entries: Int32Array, { length, random }: SplitOptions): HistorySplit {
  const mixed = Int32Array.from(shuffled([...entries], random));
  const fraction = 0.1 + 0.4 * random();
  const targetCount = Math.max(1, Math.min(TARGETS_MAX, Math.round(fraction * mixed.length)));
  return { targets: mixed.subarray(0, targetCount), members: mixed.subarray(targetCount, targetCount + length) };
}

/** Splits at a random position: the members before it, and the next few entries as targets. */
function splitInTime(entries: Int32Array, { length, random }: SplitOptions): HistorySplit {
  const at = 1 + Math.floor(random() * (entries.length - 1));
  const members = entries.slice(Math.max(0, at - length), at).reverse();
  return { members, targets: entries.subarray(at, at + TARGETS_AHEAD) };
}

/** One row per split. All targets have the same weight. */
export function pooledBatch(splits: readonly HistorySplit[]): PooledBatch {
  const rowCount = splits.length;
  const memberMax = Math.max(1, ...splits.map(({ members }) => members.length));
  const targetMax = Math.max(1, ...splits.map(({ targets }) => targets.length));
  const targetCount = Math.max(
    1,
    splits.reduce((sum, { targets }) => sum + targets.length, 0),
  );
  const members = new Int32Array(rowCount * memberMax);
  const memberMask = new Float32Array(rowCount * memberMax);
  const targets = new Int32Array(rowCount * targetMax);
  const targetWeights = new Float32Array(rowCount * targetMax);
  const rowWeights = Float32Array.from(splits, (split) => split.targets.length / targetCount);
  for (const [row, split] of splits.entries()) {
    members.set(split.members, row * memberMax);
    memberMask.fill(1, row * memberMax, row * memberMax + split.members.length);
    targets.set(split.targets, row * targetMax);
    targetWeights.fill(1 / targetCount, row * targetMax, row * targetMax + split.targets.length);
  }
  return { rowCount, memberMax, targetMax, members, memberMask, targets, targetWeights, rowWeights };
}

/** The rows of a batch in parts of about as many rows, at most `count`. Weights stay as they are: those of all parts sum to 1. */
export function partsOfPooledBatch(
  { rowCount, memberMax, targetMax, ...batch }: PooledBatch,
  count: number,
): PooledBatch[] {
  const bounds = evenBounds(rowCount, count);
  return bounds.slice(1).map((to, i) => {
    const from = bounds[i]!;
    return {
      ...{ rowCount: to - from, memberMax, targetMax },
      members: batch.members.slice(from * memberMax, to * memberMax),
      memberMask: batch.memberMask.slice(from * memberMax, to * memberMax),
      targets: batch.targets.slice(from * targetMax, to * targetMax),
      targetWeights: batch.targetWeights.slice(from * targetMax, to * targetMax),
      rowWeights: batch.rowWeights.slice(from, to),
    };
  });
}
