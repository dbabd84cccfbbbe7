/** Which arm of an experiment a user gets. */

/** Users are divided into so many buckets, so a share is exact to .01 %. */
export const BUCKETS = 10_000;

/** The buckets from `from` up to, but not including, `to`. */
export type BucketRange = [from: number, to: number];

const encoder = new TextEncoder();

/** FNV-1a, 32 bits (Fowler, Noll, Vo; RFC 9923), unsigned. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** The user's bucket in one experiment. It is hashed twice, because one FNV-1a of similar ids is far from uniform in its low bits. */
export const bucketOf = (salt: string, user: string): number =>
  fnv1a(fnv1a(`${salt}/${user}`).toString(16).padStart(8, "0")) % BUCKETS;

/** The position of the arm that has a bucket. */
export const armWithBucket = (arms: readonly { readonly buckets: readonly BucketRange[] }[], bucket: number): number =>
  arms.findIndex(({ buckets }) => buckets.some(([from, to]) => bucket >= from && bucket < to));

/**
 * Buckets by shares, which add up to 1. Each arm keeps as many of its former buckets as its share allows, so that no more users than
 * necessary change their arm.
 *
 * @param former The buckets that each arm had before: none for a new arm.
 */
export function divide(shares: readonly number[], former: readonly (readonly BucketRange[])[]): BucketRange[][] {
  const counts = countsOf(shares);
  const owner = new Int8Array(BUCKETS).fill(-1);
  const left = [...counts];
  for (const [arm, ranges] of former.entries())
    for (const [from, to] of ranges)
      for (let bucket = from; bucket < to && left[arm]! > 0; bucket++) {
        owner[bucket] = arm;
        left[arm]!--;
      }
  let arm = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    if (owner[bucket] !== -1) continue;
    while (left[arm] === 0) arm++;
    owner[bucket] = arm;
    left[arm]!--;
  }
  return shares.map((_, of) => rangesOf(owner, of));
}

/** Whole numbers of buckets that add up to all of them. */
function countsOf(shares: readonly number[]): number[] {
  let [sum, given] = [0, 0];
  return shares.map((share, i) => {
    sum += share;
    const end = i === shares.length - 1 ? BUCKETS : Math.round(sum * BUCKETS);
    const count = end - given;
    given = end;
    return count;
  });
}

function rangesOf(owner: Int8Array, arm: number): BucketRange[] {
  const ranges: BucketRange[] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    if (owner[bucket] !== arm) continue;
    const last = ranges.at(-1);
    if (last?.[1] === bucket) last[1]++;
    else ranges.push([bucket, bucket + 1]);
  }
  return ranges;
}
