/** What an answer may contain while items change: the model that every answer is checked against. */

/** A state of an item. */
export type ItemState = { readonly hidden: boolean; readonly rarity: number };
type Change = ItemState & { readonly sentMs: number; doneMs: number };

export type ItemTimelines = {
  /** The state that was sent last. */
  latest(item: number): ItemState;
  /** Records that a change was sent. The result records that it was acknowledged. One change of an item at a time. */
  send(item: number, state: ItemState, sentMs: number): (doneMs: number) => void;
  /** The states in which a call that was made and answered at these times may show an item. */
  possible(item: number, calledMs: number, answeredMs: number): readonly ItemState[];
  /** How long ago a hidden item was acknowledged as hidden when a call was made; undefined if it is not hidden, or was not then. */
  hiddenForMs(item: number, calledMs: number): number | undefined;
};

/**
 * @param initial The state of items that were never changed.
 * @param shownWithinMs An acknowledged change is in every answer to a call that is made so much later.
 */
export function itemTimelines(initial: (item: number) => ItemState, shownWithinMs: number): ItemTimelines {
  const changes = new Map<number, Change[]>();
  const of = (item: number): Change[] => changes.get(item) ?? [];
  const first = (item: number): Change => ({ ...initial(item), sentMs: -Infinity, doneMs: -Infinity });
  return {
    latest: (item) => of(item).at(-1) ?? initial(item),
    send(item, state, sentMs) {
      const change: Change = { ...state, sentMs, doneMs: Infinity };
      const known = changes.get(item) ?? [first(item)];
      known.push(change);
      changes.set(item, known);
      return (doneMs) => {
        change.doneMs = doneMs;
      };
    },
    possible(item, calledMs, answeredMs) {
      const known = changes.get(item);
      if (known === undefined) return [initial(item)];
      const newestSure = known.findLastIndex(({ doneMs }) => doneMs <= calledMs - shownWithinMs);
      return known.slice(Math.max(0, newestSure)).filter(({ sentMs }) => sentMs <= answeredMs);
    },
    hiddenForMs(item, calledMs) {
      const last = of(item).at(-1);
      return last?.hidden === true && last.doneMs <= calledMs ? calledMs - last.doneMs : undefined;
    },
  };
}
