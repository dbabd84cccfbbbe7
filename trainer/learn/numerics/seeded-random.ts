/**
 * Uniform numbers in [0, 1) that depend on seed and stream alone. SFC32 (Chris Doty-Humphrey, PractRand) has 128 bits of state
 * and passes BigCrush. The first 20 draws are skipped.
 */
export function seededRandom(seed: number, stream = 0): () => number {
  let a = seed | 0;
  let b = stream | 0;
  let c = 0x9e3779b9 | 0;
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 20; i++) next();
  return next;
}

/** A number from the standard normal distribution (Box and Muller 1958). */
export const normal = (random: () => number) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** `count` distinct positions from 0 … total − 1, ascending; all positions if `count` is not smaller than `total`. */
export function samplePositions(total: number, count: number, random: () => number): Uint32Array {
  if (count >= total) return Uint32Array.from({ length: total }, (_, i) => i);
  const chosen = new Uint32Array(count);
  // Selection sampling (Knuth, The Art of Computer Programming 2, algorithm 3.4.2 S): one pass, in ascending order.
  let taken = 0;
  for (let i = 0; taken < count; i++) if ((total - i) * random() < count - taken) chosen[taken++] = i;
  return chosen;
}
