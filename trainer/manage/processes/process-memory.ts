import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Resident memory of a process in MB; undefined when it is gone or the system does not tell. */
export async function residentMb(pid: number): Promise<number | undefined> {
  try {
    if (process.platform === "win32") return undefined;
    if (process.platform !== "linux") {
      const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)], { timeout: 2000 });
      return Number(stdout) / 1024;
    }
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined; // the process ended in between
  }
}
