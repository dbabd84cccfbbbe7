import { murmur3OfInteger } from "../hash.ts";
import type { ItemIndex } from "../ids.ts";

/**
 * Places of a list, counted from 0, that go to items with few interactions: the share of all places, evenly spread. With a share of 0.2
 * these are the fifth, the tenth, and so on.
 */
export const explorationPlaces = (limit: number, share: number): number[] =>
  Array.from({ length: limit }, (_, place) => place).filter(
    (place) => Math.floor((place + 1) * share + ROUNDING) > Math.floor(place * share + ROUNDING),
  );

const ROUNDING = 1e-9; // 10 · 0.3 is less than 3 in floating point

/** From this item on, items have few interactions: the less popular half of the catalog, whose order is popularity. */
export const firstRarelyChosen = (itemCount: number): number => Math.ceil(itemCount / 2);

/**
 * Draws items without replacement, each with a probability in proportion to e to the power of its score (in standard deviations). It
 * sorts by score plus Gumbel noise, which gives exactly this distribution.
 */
export function drawItems(
  items: readonly ItemIndex[],
  count: number,
  { scoreOf, seed }: { readonly scoreOf: (item: ItemIndex) => number; readonly seed: number },
): ItemIndex[] {
  const noisy = items.map((item) => {
    const uniform = (murmur3OfInteger(item, seed) + 0.5) / 2 ** 32;
    return [scoreOf(item) - Math.log(-Math.log(uniform)), item] as const;
  });
  return noisy
    .sort(([a], [b]) => b - a)
    .slice(0, count)
    .map(([, item]) => item);
}

/** Puts the drawn items at their places, and moves the others down. An item that was drawn is nowhere else in the list. */
export function withDrawn(
  list: readonly ItemIndex[],
  drawn: readonly ItemIndex[],
  places: readonly number[],
): ItemIndex[] {
  const isDrawn = new Set(drawn);
  const placed = list.filter((item) => !isDrawn.has(item));
  for (const [i, item] of drawn.entries()) placed.splice(places[i]!, 0, item);
  return placed;
}

/** A seed from a text: 32 bits. */
export function seedOf(text: string): number {
  let seed = 0;
  for (let i = 0; i < text.length; i++) seed = murmur3OfInteger(text.charCodeAt(i), seed);
  return seed;
}
