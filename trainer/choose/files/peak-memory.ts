import { readFileSync, writeFileSync } from "node:fs";

/**
 * Starts to watch the resident memory of this process and returns a function that gives the peak since then, in MB. On Linux the
 * kernel's high-water mark is reset (proc_pid_clear_refs(5), value 5). Elsewhere the peak is counted from the start of the process.
 */
export function watchPeakMemory(): () => number {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
    return () => peakFromProc() ?? peakSinceStart();
  } catch {
    return peakSinceStart;
  }
}

/** process.resourceUsage() is in kilobytes. */
const peakSinceStart = () => process.resourceUsage().maxRSS / 1024;

function peakFromProc(): number | undefined {
  const found = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"));
  return found ? Number(found[1]) / 1024 : undefined;
}
