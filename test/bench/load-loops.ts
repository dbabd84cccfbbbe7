/** Calls that wait at once, at most. */
export const OUTSTANDING_MAX = 400;
const LATE_SECONDS_MAX = 0.03;

/** So many callers that ask again as soon as they are answered. */
export async function closedLoop(
  ask: () => Promise<void>,
  { connections, seconds }: { connections: number; seconds: number },
) {
  const end = performance.now() + 1000 * seconds;
  const connection = async () => {
    while (performance.now() < end) await ask();
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

type OpenLoop = { readonly perSecond: number; readonly seconds: number; readonly say: (line: string) => void };

/**
 * Calls at their times, whether or not earlier ones are answered. Where this process was held up itself, what it did not send is
 * left out: all of it at once is not what callers would have sent. Gives the share of calls that were.
 */
export async function openLoop(ask: () => Promise<void>, { perSecond, seconds, say }: OpenLoop): Promise<number> {
  const begin = performance.now();
  const outstanding = new Set<Promise<void>>();
  let [sent, leftOut, lookedAt] = [0, 0, 0];
  for (let told = 60; ; ) {
    const elapsed = (performance.now() - begin) / 1000;
    if (elapsed >= seconds) break;
    if (elapsed >= told) {
      say(`  ${told} s`);
      told += 60;
    }
    const late = Math.floor(Math.max(0, elapsed - lookedAt - LATE_SECONDS_MAX) * perSecond);
    [sent, leftOut, lookedAt] = [sent + late, leftOut + late, elapsed];
    for (; sent < elapsed * perSecond && outstanding.size < OUTSTANDING_MAX; sent++) {
      const call: Promise<void> = ask().finally(() => outstanding.delete(call));
      outstanding.add(call);
    }
    await pause(2);
  }
  await Promise.all(outstanding);
  return leftOut / Math.max(1, sent);
}

export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
