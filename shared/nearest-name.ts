const LENGTH_MAX = 64; // the edit distance takes quadratic time, and longer names are hardly misspellings

/** The known name that was probably meant, or undefined if none is similar. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LENGTH_MAX) return undefined;
  let nearest: string | undefined;
  let leastDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= leastDistance || candidate.length > LENGTH_MAX) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance >= leastDistance) continue;
    leastDistance = distance;
    nearest = candidate;
  }
  return nearest;
}

/** `; did you mean "x"?`, or an empty text. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
}

/** The number of insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : Infinity;
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, replaced, swapped));
    }
    before = above;
    above = row;
  }
  return above[b.length]!;
}
