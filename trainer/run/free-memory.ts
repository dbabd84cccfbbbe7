/** MiB of a run's process before it has read anything (129 measured), and what its heap and libraries grow by meanwhile. */
const PROCESS_MB = 150;

/** The part of a run's memory that is for data and models, in MiB. */
export const memoryForData = (limitMb: number): number => limitMb - PROCESS_MB;

/** From this fraction of the limit on, garbage is collected before the memory is read. */
const COLLECT_FRACTION = 1 / 3;

/**
 * MiB that this process may still take below its limit. Management measures the same figure and ends a process above the limit.
 * Garbage is collected where Node was started with `--expose-gc`, as a run's process is.
 */
export const freeMemory = (limitMb: number) => (): number => {
  // A plain collection keeps free pages of the heap: 417 MB stood after it, 348 MB after this one.
  if (residentMb() > COLLECT_FRACTION * limitMb)
    globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  return limitMb - residentMb();
};

const residentMb = () => process.memoryUsage.rss() / 2 ** 20;
