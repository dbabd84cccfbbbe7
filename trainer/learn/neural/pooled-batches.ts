import type { Histories } from "../statistics/histories.ts";
import { shuffled } from "./batches.ts";

/** Users' histories cut in two: members, which are pooled, and targets, which should be found. Short ones are padded. */
export type PooledBatch = {
  readonly rowCount: number;
  readonly memberMax: number;
  readonly targetMax: number;
  readonly members: Int32Array<ArrayBuffer>; // [rowCount * memberMax] newest first, padded with 0
  readonly memberMask: Float32Array<ArrayBuffer>; // [rowCount * memberMax] 1, or 0 for padding
  readonly targets: Int32Array<ArrayBuffer>; // [rowCount * targetMax] padded with 0
  readonly targetWeights: Float32Array<ArrayBuffer>; // [rowCount * targetMax] 0 for padding; all add up to 1
  readonly rowWeights: Float32Array<ArrayBuffer>; // [rowCount] sum of a row's target weights
};

/** One history cut in two; members are newest first. */
export type Cut = { readonly members: Int32Array; readonly targets: Int32Array };

export type CutOptions = {
  /** Members of a history at most. */
  readonly length: number;
  /** Whether targets come after the members in time; else they are drawn from anywhere. */
  readonly ordered: boolean;
  readonly random: () => number;
};

const TARGETS_MAX = 50;
const TARGETS_AHEAD = 5;
const ENTRIES_PER_CUT = 10;

/** The cuts of one epoch, in batches of cuts of like size. */
export function* pooledEpoch(
  { start, items }: Histories,
  ends: Uint32Array,
  options: CutOptions & { readonly cellsMax: number; readonly rowsMax: number },
): Generator<PooledBatch> {
  const cuts: Cut[] = [];
  for (const [user, end] of ends.entries()) {
    const entries = items.subarray(start[user]!, end);
    if (entries.length < 2) continue;
    if (!options.ordered) cuts.push(cutAnywhere(entries, options));
    else {
      const count = Math.ceil(entries.length / ENTRIES_PER_CUT);
      for (let i = 0; i < count; i++) cuts.push(cutInTime(entries, options));
    }
  }
  const bySize = shuffled(cuts, options.random).sort((a, b) => cellsOf(a) - cellsOf(b));
  const groups: Cut[][] = [];
  for (let from = 0; from < bySize.length; ) {
    let to = from + 1;
    while (
      to < bySize.length &&
      to - from < options.rowsMax &&
      (to + 1 - from) * cellsOf(bySize[to]!) <= options.cellsMax
    ) {
      to++;
    }
    groups.push(bySize.slice(from, to));
    from = to;
  }
  for (const group of shuffled(groups, options.random)) yield pooledBatch(group);
}

const cellsOf = ({ members, targets }: Cut) => members.length + targets.length;

/** A tenth to a half of the entries are targets, one at least. */
function cutAnywhere(entries: Int32Array, { length, random }: CutOptions): Cut {
  const mixed = Int32Array.from(shuffled([...entries], random));
  const share = 0.1 + 0.4 * random();
  const targetCount = Math.max(1, Math.min(TARGETS_MAX, Math.round(share * mixed.length)));
  return { targets: mixed.subarray(0, targetCount), members: mixed.subarray(targetCount, targetCount + length) };
}

/** At a random moment: what came next, a few entries at most, from what came before. */
function cutInTime(entries: Int32Array, { length, random }: CutOptions): Cut {
  const at = 1 + Math.floor(random() * (entries.length - 1));
  const members = entries.slice(Math.max(0, at - length), at).reverse();
  return { members, targets: entries.subarray(at, at + TARGETS_AHEAD) };
}

/** Cuts side by side. Every target weighs the same. */
export function pooledBatch(cuts: readonly Cut[]): PooledBatch {
  const rowCount = cuts.length;
  const memberMax = Math.max(1, ...cuts.map(({ members }) => members.length));
  const targetMax = Math.max(1, ...cuts.map(({ targets }) => targets.length));
  const targetCount = Math.max(
    1,
    cuts.reduce((sum, { targets }) => sum + targets.length, 0),
  );
  const members = new Int32Array(rowCount * memberMax);
  const memberMask = new Float32Array(rowCount * memberMax);
  const targets = new Int32Array(rowCount * targetMax);
  const targetWeights = new Float32Array(rowCount * targetMax);
  const rowWeights = Float32Array.from(cuts, (cut) => cut.targets.length / targetCount);
  for (const [row, cut] of cuts.entries()) {
    members.set(cut.members, row * memberMax);
    memberMask.fill(1, row * memberMax, row * memberMax + cut.members.length);
    targets.set(cut.targets, row * targetMax);
    targetWeights.fill(1 / targetCount, row * targetMax, row * targetMax + cut.targets.length);
  }
  return { rowCount, memberMax, targetMax, members, memberMask, targets, targetWeights, rowWeights };
}
