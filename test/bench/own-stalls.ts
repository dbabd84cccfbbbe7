/** When this process was held up itself: whoever measures others by the clock must tell it apart. */
export type OwnStalls = {
  /** The longest within some time, on the clock of performance.now(); 0: none worth telling. */
  longestMs(within: { readonly fromMs: number; readonly toMs: number }): number;
  stop(): void;
};

const EVERY_MS = 10;
const STALL_MS_LEAST = 20;

export function watchOwnStalls(): OwnStalls {
  const stalls: { readonly fromMs: number; readonly toMs: number }[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs - lastMs >= EVERY_MS + STALL_MS_LEAST) stalls.push({ fromMs: lastMs + EVERY_MS, toMs: nowMs });
    lastMs = nowMs;
  }, EVERY_MS);
  return {
    longestMs: ({ fromMs, toMs }) =>
      stalls
        .filter((stall) => stall.toMs >= fromMs && stall.fromMs <= toMs)
        .reduce((most, stall) => Math.max(most, stall.toMs - stall.fromMs), 0),
    stop: () => clearInterval(timer),
  };
}
