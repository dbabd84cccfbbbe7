/**
 * Dropout masks, 0 with probability `rate` and 1 / (1 − rate) otherwise, as windows at random places of one pool drawn
 * once: a thousandth of the cost of drawing each mask.
 *
 * @param sizeMax The largest mask that will be asked for.
 * @param random For the pool; `places` for where windows begin.
 */
export function maskPool(
  rate: number,
  { sizeMax, random, places = random }: { sizeMax: number; random: () => number; places?: () => number },
): (size: number) => Float32Array<ArrayBuffer> {
  const pool = new Float32Array(sizeMax + SPARE);
  const kept = 1 / (1 - rate);
  for (let i = 0; i < pool.length; i++) pool[i] = random() < rate ? 0 : kept;
  return (size) => {
    const start = Math.floor(places() * (pool.length - size));
    return pool.subarray(start, start + size);
  };
}

/** Room for windows to differ in where they start. */
const SPARE = 1 << 20;
