/** The 0.975 quantile of the normal distribution. */
const Z = 1.959964;

/**
 * A share with its 95 % interval by Wilson's score method, which is also right for small counts and shares near 0 or 1.
 * https://doi.org/10.1080/01621459.1927.10502953
 */
export function wilsonInterval(successes: number, trials: number): { share: number; low: number; high: number } {
  const share = successes / trials;
  const spread = Z ** 2 / trials;
  const centre = (share + spread / 2) / (1 + spread);
  const half = Math.sqrt(share * (1 - share) * spread + spread ** 2 / 4) / (1 + spread);
  return { share, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}
