/** MiB of a run's process before it has read anything (129 measured), and what its heap and libraries grow by meanwhile. */
const PROCESS_MB = 150;

/** The part of a run's memory that is for data and models, in MiB. */
export const memoryForData = (limitMb: number): number => limitMb - PROCESS_MB;

/** From this fraction of the limit on, garbage is collected before the memory is read, since it counts as held. */
const COLLECT_FRACTION = 1 / 2;

/**
 * MiB that this process may still take below its limit. Management measures the same figure and ends a process above the limit.
 * Garbage is collected where Node was started with `--expose-gc`, as a run's process is.
 */
export const freeMemory = (limitMb: number) => (): number => {
  if (residentMb() > COLLECT_FRACTION * limitMb) globalThis.gc?.();
  return limitMb - residentMb();
};

const residentMb = () => process.memoryUsage.rss() / 2 ** 20;
