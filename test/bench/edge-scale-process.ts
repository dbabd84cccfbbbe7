import { readdirSync, readFileSync } from "node:fs";

/** Resources of one process, from Linux's /proc. */
export type ProcessUse = {
  readonly residentMb: number;
  /** Highest residentMb since the process started. */
  readonly peakMb: number;
  /** CPU time of all threads since the process started. */
  readonly cpuMs: number;
};

/** Ids of this process's children; empty without /proc. */
export function childProcesses(): number[] {
  try {
    const own = `/proc/${process.pid}/task`;
    const listed = readdirSync(own).map((thread) => readFileSync(`${own}/${thread}/children`, "utf8"));
    return listed.flatMap((text) => text.split(" ").filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

/** Current resources of a process; zeros without /proc. */
export function processUse(pid: number | undefined): ProcessUse {
  if (pid === undefined) return { residentMb: 0, peakMb: 0, cpuMs: 0 };
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { residentMb: megabytes("VmRSS"), peakMb: megabytes("VmHWM"), cpuMs: cpuMs(pid) };
}

/** CPU nanoseconds from the scheduler; /proc/{pid}/stat only counts hundredths of a second. */
function cpuMs(pid: number): number {
  const threads = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(threads).map((thread) =>
    Number(readIfThere(`${threads}/${thread}/schedstat`).split(" ")[0]),
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** A thread may end while the list is read. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "0";
  }
}
