import type { Interactions } from "../../read/dataset/dataset.ts";

/** Interactions per item. Between these two what is the best guess changes; measured on four public sets (LOG.md). */
const SPARSE = 13;
const DENSE = 48;

/** How sparse data are: 0 for data with plenty of interactions an item, 1 for data with few, and what is between. */
export function sparsity({ items, itemCount }: Pick<Interactions, "items" | "itemCount">): number {
  const perItem = items.length / Math.max(1, itemCount);
  const share = Math.log(DENSE / perItem) / Math.log(DENSE / SPARSE);
  return Math.min(1, Math.max(0, share));
}

/** A setting between the one that suits dense data and the one that suits sparse data, to two digits. */
export const between = (dense: number, sparse: number, share: number): number =>
  Number((dense + (sparse - dense) * share).toPrecision(2));
