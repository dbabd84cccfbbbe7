/**
 * Which items are chosen in addition to others, for `relation: together`. A row has the items that go best with one item:
 *
 *     start       u32 [rows + 1]    row i is others[start[i]] … others[start[i + 1] − 1], for the first items of the catalog
 *     others      u32 [n]
 *     strengths   u8 [n]            strength = largest · (code / 255)², since most strengths are small
 *
 * The strength of j after i is p · ln(p / q): q is the part of all baskets that have j, and p the part of those with i, shrunk towards q.
 * So what everybody buys anyway is weak, and so is what rarely goes with i.
 */
import * as z from "zod";
import { FormatError } from "./assert.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";
import type { ItemIndex } from "./ids.ts";

export type TogetherRows = {
  readonly itemCount: number;
  readonly start: Uint32Array;
  readonly others: Uint32Array;
  /** Above 0. */
  readonly strengths: Float32Array;
};

export type Together = {
  readonly itemCount: number;
  /** Calls `use` with each item that goes with this one, and its strength. */
  forEachOther(item: ItemIndex, use: (other: ItemIndex, strength: number) => void): void;
};

const KIND = "together";
const CODES = 255;
const Metadata = z.object({ item_count: z.int().nonnegative(), largest: z.number().nonnegative() });

export function encodeTogether({ itemCount, start, others, strengths }: TogetherRows): Uint8Array {
  const largest = strengths.reduce((max, strength) => Math.max(max, strength), 0);
  const codeOf = (strength: number) => Math.max(1, Math.round(CODES * Math.sqrt(strength / largest)));
  return encodeContainer({
    kind: KIND,
    metadata: Metadata.parse({ item_count: itemCount, largest }),
    arrays: { start, others, strengths: Uint8Array.from(strengths, codeOf) },
  });
}

/** Throws FormatError. */
export function decodeTogether(bytes: Uint8Array): Together {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, largest } = container.metadata;
  const start = arrayOf(container, "start", { dtypes: ["u32"] });
  const others = arrayOf(container, "others", { dtypes: ["u32"] });
  const strengths = arrayOf(container, "strengths", { dtypes: ["u8"], length: others.length });
  const areRows = start[0] === 0 && start.at(-1) === others.length && start.length <= itemCount + 1;
  const areRising = start.every((at, row) => row === 0 || at >= start[row - 1]!);
  if (!areRows || !areRising || others.some((other) => other >= itemCount))
    throw new FormatError(`${KIND}: expected rows of items below ${itemCount}, one after another`);
  return {
    itemCount,
    forEachOther(item, use) {
      if (item + 1 >= start.length) return;
      for (let at = start[item]!; at < start[item + 1]!; at++)
        use(others[at]! as ItemIndex, largest * (strengths[at]! / CODES) ** 2);
    },
  };
}
