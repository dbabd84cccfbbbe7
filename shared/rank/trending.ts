/** Scores of items that are chosen more than usual. */
import type { ItemIndex } from "../ids.ts";
import { type ChoiceCounts, type Choices, type LiveChoices, partsOfBins, sumOfChoices } from "../recent-choices.ts";
import type { Snapshot } from "../snapshot.ts";
import { popularityScores } from "./score-scale.ts";

/** Quantile of the normal distribution: a growth is at least its bound with a probability of 97.5 %. */
const Z = 1.96;

const NONE: Choices = { recent: 0, earlier: 0 };

/**
 * Scores of the catalog: the logarithm of its growth for an item that has surely grown, and below these popularity. Growth is the item's
 * part of all choices in the last 48 hours, divided by its part in the 28 days before, so that a busy weekend alone is no trend.
 *
 * With live choices the hours count back from now. Without them, they count back from the newest choice that the version knows.
 */
export function trendingScores(
  { recentChoices, liveChoices, itemCount, newCount = 0 }: Snapshot,
  nowSeconds: number,
): { readonly scores: Float32Array; readonly isTrending: boolean } {
  const scores = popularityScores(itemCount + newCount);
  const learnt = recentChoices
    ? learntChoices(recentChoices, liveChoices ? nowSeconds : recentChoices.until)
    : undefined;
  const totals = sumOfChoices(learnt?.totals ?? NONE, liveChoices?.totals);
  const pace = totals.earlier / totals.recent;
  let isTrending = false;
  const add = (item: ItemIndex, { recent, earlier }: Choices) => {
    const growth = growthOf(recent, earlier, pace);
    if (!(growth > 1)) return; // NaN where there are no recent choices at all
    scores[item] = Math.log(growth);
    isTrending = true;
  };
  for (const [item, choices] of learnt?.items ?? []) add(item, sumOfChoices(choices, liveChoices?.items.get(item)));
  const unlisted = { recent: 0, earlier: recentChoices?.othersMax ?? 0 };
  for (const [item, choices] of liveChoices?.items ?? [])
    if (!learnt?.items.has(item)) add(item, item < itemCount ? sumOfChoices(choices, unlisted) : choices);
  return { scores, isTrending };
}

function learntChoices(table: ChoiceCounts, nowSeconds: number): LiveChoices {
  const parts = partsOfBins(table, nowSeconds);
  const bins = parts.length;
  const within = (countOf: (bin: number) => number): Choices => {
    let [recent, earlier] = [0, 0];
    for (let bin = 0; bin < bins; bin++) {
      recent += parts[bin]!.recent * countOf(bin);
      earlier += parts[bin]!.earlier * countOf(bin);
    }
    return { recent, earlier };
  };
  const items = new Map<ItemIndex, Choices>();
  for (const [row, item] of table.items.entries())
    items.set(
      item as ItemIndex,
      within((bin) => table.counts[row * bins + bin]!),
    );
  return { items, totals: within((bin) => table.totals[bin]!) };
}

/**
 * The lower bound of the growth of an item (Wilson, Probable inference, the law of succession, and statistical inference, 1927): of its
 * choices, the part that is recent is at least p, so it has grown at least pace · p / (1 − p) times.
 *
 * One more choice in 48 hours is taken as usual for every item. So two choices of an item that nobody chose before are no trend, and
 * five are.
 *
 * @param pace Number of earlier choices for each recent one, in the whole catalog.
 */
export function growthOf(recent: number, earlier: number, pace: number): number {
  const count = recent + earlier + pace;
  const part = recent / count;
  const square = Z ** 2 / count;
  const low = (part + square / 2 - Math.sqrt(square * part * (1 - part) + square ** 2 / 4)) / (1 + square);
  return (pace * Math.max(0, low)) / (1 - low);
}
