/** The largest number of unanswered calls. */
export const OUTSTANDING_MAX = 400;
/** A longer time between two rounds is a pause of this process. */
const PAUSE_SECONDS_MIN = 0.03;

/** Connections that call again as soon as they are answered. */
export async function closedLoop(
  makeCall: () => Promise<void>,
  { connections, seconds }: { connections: number; seconds: number },
) {
  const end = performance.now() + 1000 * seconds;
  const connection = async () => {
    while (performance.now() < end) await makeCall();
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

type OpenLoop = { readonly perSecond: number; readonly seconds: number; readonly say: (line: string) => void };

/**
 * Calls at a constant rate, whether or not earlier calls are answered. Calls that fall into a pause of this process are left out, since
 * sending them all at once would be another load. Returns the fraction of calls that were left out.
 */
export async function openLoop(makeCall: () => Promise<void>, { perSecond, seconds, say }: OpenLoop): Promise<number> {
  const begin = performance.now();
  const outstanding = new Set<Promise<void>>();
  let [sent, leftOut, lastRoundAt] = [0, 0, 0];
  for (let nextReport = 60; ; ) {
    const elapsed = (performance.now() - begin) / 1000;
    if (elapsed >= seconds) break;
    if (elapsed >= nextReport) {
      say(`  ${nextReport} s`);
      nextReport += 60;
    }
    const late = Math.floor(Math.max(0, elapsed - lastRoundAt - PAUSE_SECONDS_MIN) * perSecond);
    [sent, leftOut, lastRoundAt] = [sent + late, leftOut + late, elapsed];
    for (; sent < elapsed * perSecond && outstanding.size < OUTSTANDING_MAX; sent++) {
      const call: Promise<void> = makeCall().finally(() => outstanding.delete(call));
      outstanding.add(call);
    }
    await pause(2);
  }
  await Promise.all(outstanding);
  return leftOut / Math.max(1, sent);
}

export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
