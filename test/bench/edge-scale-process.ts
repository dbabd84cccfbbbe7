import { readdirSync, readFileSync } from "node:fs";

/** What the system says of one process; Linux only. */
export type ProcessUse = {
  readonly residentMb: number;
  /** The largest residentMb there ever was. */
  readonly peakMb: number;
  /** Of all threads, since the process began. */
  readonly cpuMs: number;
};

const MS_PER_TICK = 10; // USER_HZ is 100 wherever Linux runs

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
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  return { residentMb: megabytes("VmRSS"), peakMb: megabytes("VmHWM"), cpuMs };
}
