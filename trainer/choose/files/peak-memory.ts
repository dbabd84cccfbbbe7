import { readFileSync, writeFileSync } from "node:fs";

/**
 * Begins to watch the memory of this process; the function returned tells the peak since then, in MB of resident memory. On Linux
 * the kernel's high-water mark is reset (proc_pid_clear_refs(5), value 5); elsewhere it is the peak since the process began.
 */
export function watchPeakMemory(): () => number {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
    return () => peakFromProc() ?? peakSinceStart();
  } catch {
    return peakSinceStart;
  }
}

/** process.resourceUsage() tells kilobytes. */
const peakSinceStart = () => process.resourceUsage().maxRSS / 1024;

function peakFromProc(): number | undefined {
  const found = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"));
  return found ? Number(found[1]) / 1024 : undefined;
}
