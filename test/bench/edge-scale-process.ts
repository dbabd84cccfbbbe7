import { readdirSync, readFileSync } from "node:fs";

/** What the system says of one process; Linux only. */
export type ProcessUse = {
  readonly residentMb: number;
  /** The largest residentMb there ever was. */
  readonly peakMb: number;
  /** Of all threads, since the process began. */
  readonly cpuMs: number;
};

/** Ids of this process's own children; none where there is no /proc. */
export function childProcesses(): number[] {
  try {
    const own = `/proc/${process.pid}/task`;
    const listed = readdirSync(own).map((thread) => readFileSync(`${own}/${thread}/children`, "utf8"));
    return listed.flatMap((text) => text.split(" ").filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

/** What a process takes now; zeros where there is no /proc. */
export function processUse(pid: number | undefined): ProcessUse {
  if (pid === undefined) return { residentMb: 0, peakMb: 0, cpuMs: 0 };
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { residentMb: megabytes("VmRSS"), peakMb: megabytes("VmHWM"), cpuMs: cpuMs(pid) };
}

/** What the scheduler counted, in nanoseconds: /proc/{pid}/stat knows only hundredths of a second. */
function cpuMs(pid: number): number {
  const threads = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(threads).map((thread) =>
    Number(readIfThere(`${threads}/${thread}/schedstat`).split(" ")[0]),
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** Threads end while they are listed. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "0";
  }
}
