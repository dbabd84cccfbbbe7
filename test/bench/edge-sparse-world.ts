import type { ItemIndex } from "../../shared/ids.ts";
import { packStrings } from "../../shared/packed-strings.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../trainer/read/dataset/dataset.ts";
import { byFallingScore, countPerItem } from "../fixtures/by-popularity.ts";

/** Choices of many users in a large catalog and the next choices of each. */
export type SparseWorld = {
  /** Histories without the held-out choices; items are sorted by popularity. */
  readonly train: Interactions;
  /** Held-out choices. Int32Array(userCount · HELD_OUT) */
  readonly targets: Int32Array;
};

export const HELD_OUT = 4;

const ITEMS_PER_TASTE = 200;
/** Popularity: the item at rank r of n is chosen about (r / n)^(1 / FALL − 1) times as often as the last. */
const FALL = 4;
const LENGTH = { least: HELD_OUT + 5, most: HELD_OUT + 200, median: 14, spread: 0.8 };
/** Positions within a taste around which a user chooses. */
const REACH = 6;
const ANYTHING_SHARE = 0.1;
const DRIFT_SHARE = 0.3;
const BEGIN = 1_700_000_000;

/**
 * Users have one to three tastes, each at a position among the taste's 200 items, and continue from their last choice.
 * Popularity is skewed: half of the items have few choices. Deterministic by size.
 */
export function drawnSparseWorld(itemCount: number, userCount: number): SparseWorld {
  const random = seededRandom(5);
  const lines = tasteLines(itemCount, random);
  const popular = () => Math.floor(itemCount * random() ** FALL);
  const userStart = new Uint32Array(userCount + 1);
  const targets = new Int32Array(userCount * HELD_OUT);
  const items = new Int32Array(userCount * LENGTH.most);
  let count = 0;
  for (let user = 0; user < userCount; user++) {
    const chosen = choicesOf(random, lines, popular);
    targets.set(chosen.splice(-HELD_OUT), user * HELD_OUT);
    items.set(chosen, count);
    count += chosen.length;
    userStart[user + 1] = count;
  }
  return inOrderOfPopularity({ itemCount, userCount, userStart, items: items.slice(0, count), targets });
}

/** The items of each taste in a line with similar ones adjacent, and each item's position. */
type TasteLines = { readonly tasteCount: number; readonly lines: readonly Int32Array[]; readonly place: Int32Array };

function tasteLines(itemCount: number, random: () => number): TasteLines {
  const tasteCount = Math.ceil(itemCount / ITEMS_PER_TASTE);
  const place = new Int32Array(itemCount);
  const lines = Array.from({ length: tasteCount }, (_, taste) => {
    const line = Int32Array.from(
      { length: Math.ceil((itemCount - taste) / tasteCount) },
      (_, i) => taste + i * tasteCount,
    );
    for (let i = line.length - 1; i > 0; i--) {
      const other = Math.floor(random() * (i + 1));
      [line[i], line[other]] = [line[other]!, line[i]!];
    }
    for (const [i, item] of line.entries()) place[item] = i;
    return line;
  });
  return { tasteCount, lines, place };
}

function choicesOf(random: () => number, { tasteCount, lines, place }: TasteLines, popular: () => number): number[] {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const length = Math.min(
    LENGTH.most,
    Math.max(LENGTH.least, Math.round(LENGTH.median * Math.exp(LENGTH.spread * normal))),
  );
  const homes = Array.from({ length: 1 + Math.floor(3 * random()) }, popular);
  const chosen = new Set<number>();
  for (let tries = 0; chosen.size < length && tries < 20 * length; tries++) {
    const at = Math.floor(homes.length * random());
    const line = lines[homes[at]! % tasteCount]!;
    const near = () => {
      const step = Math.round(-Math.log(1 - random()) * REACH) * (random() < 0.5 ? -1 : 1);
      return line[(((place[homes[at]!]! + step) % line.length) + line.length) % line.length]!;
    };
    // The more popular one of two similar items.
    const item = random() < ANYTHING_SHARE ? popular() : Math.min(near(), near());
    chosen.add(item);
    if (item % tasteCount === homes[at]! % tasteCount && random() < DRIFT_SHARE) homes[at] = item;
  }
  return [...chosen];
}

function inOrderOfPopularity(
  drawn: Pick<Interactions, "itemCount" | "userCount" | "userStart" | "items"> & { readonly targets: Int32Array },
): SparseWorld {
  const { items, targets, ...sizes } = drawn;
  const positive = new Uint8Array(items.length).fill(1);
  const times = Uint32Array.from(items, (_, i) => BEGIN + i); // ascending within each user
  const order = byFallingScore(countPerItem({ ...drawn, positive, times, ratings: null }));
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  const renumbered = (old: Int32Array) => old.map((item) => newIndex[item]!);
  return {
    train: { ...sizes, items: renumbered(items), positive, times, ratings: null },
    targets: renumbered(targets),
  };
}

/** The first users of a world with ids from 0, as published; item ids are index + 1. */
export function datasetOfFirst({ train }: SparseWorld, userCount: number): Dataset {
  const end = train.userStart[userCount]!;
  return {
    userCount,
    itemCount: train.itemCount,
    userStart: train.userStart.slice(0, userCount + 1),
    items: train.items.slice(0, end),
    times: train.times.slice(0, end),
    positive: train.positive.slice(0, end),
    ratings: null,
    itemIds: packStrings(Array.from({ length: train.itemCount }, (_, item) => String(item + 1))),
    userIds: packStrings(Array.from({ length: userCount }, (_, user) => String(user))),
    itemIdType: "integer",
    itemAttributes: [],
    userAttributes: [],
  };
}

/** A user's newest choices, at most `most`, oldest first. */
export function historyOf({ train }: SparseWorld, user: number, most: number): ItemIndex[] {
  const [from, to] = [train.userStart[user]!, train.userStart[user + 1]!];
  return [...train.items.subarray(Math.max(from, to - most), to)] as ItemIndex[];
}
