/**
 * The number of positions, from 0 on and below `count`, for which `isBelow` holds. It must hold for the first positions of a sorted list
 * and for none after them.
 */
export function countBelowIn(count: number, isBelow: (at: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
