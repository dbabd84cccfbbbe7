/**
 * How well two sets of times can be told apart: the chance that one drawn from `a` is below one drawn from `b`, equal
 * ones counting half. 0.5 is not at all, 0 and 1 are always (Mann and Whitney, 1947; the area under the ROC curve).
 */
export function separability(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((value) => ({ value, isA: true })), ...b.map((value) => ({ value, isA: false }))];
  all.sort((x, y) => x.value - y.value);
  let rankSum = 0; // of the values of a, ranks from 1, equal values sharing their mean
  for (let from = 0; from < all.length; ) {
    let to = from;
    while (to < all.length && all[to]!.value === all[from]!.value) to++;
    for (let i = from; i < to; i++) if (all[i]!.isA) rankSum += (from + 1 + to) / 2;
    from = to;
  }
  const above = rankSum - (a.length * (a.length + 1)) / 2; // pairs in which a's is the larger
  return 1 - above / (a.length * b.length);
}

/** Half the width of the 95 % interval of separability when there is nothing to tell apart. */
export const separabilityBy = (a: number, b: number): number => 1.96 * Math.sqrt((a + b + 1) / (12 * a * b));
