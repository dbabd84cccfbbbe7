/** Moments that lie near each other. */
export type Burst = { readonly fromMs: number; readonly toMs: number; readonly count: number };

/** The moments, ascending, in bursts: of two bursts one begins more than `gapMs` after the other's end. */
export function burstsOf(momentsMs: readonly number[], gapMs: number): Burst[] {
  const bursts: Burst[] = [];
  for (const at of momentsMs) {
    const last = bursts.at(-1);
    if (last && at - last.toMs <= gapMs) bursts[bursts.length - 1] = { ...last, toMs: at, count: last.count + 1 };
    else bursts.push({ fromMs: at, toMs: at, count: 1 });
  }
  return bursts;
}
