/** Checks of this machine: Node, memory, disk, folders, secrets, port. */
import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { totalmem } from "node:os";
import { tryPort } from "../local/free-port.ts";
import { type Check, fault, type Outcome, ok, warning } from "./check.ts";
import type { Subject } from "./subject.ts";

const MB = 2 ** 20;
/** The smallest machine on which edge and trainer have run. */
const MEMORY_MB_MIN = 1024;
const NODE_MIN = [22, 18] as const;

export const machineChecks = (subject: Subject): Check[] => [
  { name: "node", run: async () => nodeOutcome(process.versions.node) },
  { name: "memory", run: async () => memoryOutcome(memoryBytes() / MB, subject) },
  { name: "disk", run: () => disk(subject) },
  { name: "state folder", run: () => stateFolder(subject) },
  { name: "data folders", run: () => dataFolders(subject) },
  { name: "secrets", run: () => secrets(subject) },
  { name: "port", run: (signal) => port(subject, signal) },
];

export function nodeOutcome(version: string): Outcome {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNewEnough = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
  if (isNewEnough) return ok(`Node ${version}.`);
  return fault(`Node ${version} is too old.`, `Install Node ${NODE_MIN.join(".")} or newer.`);
}

/** The memory of the machine, or of its container. */
const memoryBytes = () => Math.min(totalmem(), process.constrainedMemory() || Infinity);

export function memoryOutcome(mb: number, { runMemoryMb, settingsPlace }: Subject): Outcome {
  const found = `${Math.round(mb)} MB of memory; a training may use ${runMemoryMb} MB.`;
  const remedy = `Add memory, or lower SHORTLIST_RUN_MEMORY_MB in ${settingsPlace}.`;
  if (mb < MEMORY_MB_MIN) return fault(found, remedy);
  return mb < runMemoryMb ? warning(found, remedy) : ok(found);
}

async function disk({ stateFolder, diskReserveBytes: reserve, settingsPlace }: Subject): Promise<Outcome> {
  const found = await statfs(stateFolder).catch(() => undefined);
  if (!found) return warning("The state folder's disk cannot be examined.", "See the finding about the state folder.");
  const free = found.bavail * found.bsize;
  const finding = `${Math.round(free / 1e6)} MB free; below ${Math.round(reserve / 1e6)} MB no training starts.`;
  const remedy = `Free space below ${stateFolder}, or lower SHORTLIST_DISK_RESERVE_BYTES in ${settingsPlace}.`;
  if (free < reserve) return fault(finding, remedy);
  return free < 2 * reserve ? warning(finding, remedy) : ok(finding);
}

async function stateFolder({ stateFolder: folder, startCommand, port }: Subject): Promise<Outcome> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok(`${folder} can be written.`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && port === null)
      return warning(`${folder} does not exist yet.`, `${startCommand} creates it; or set SHORTLIST_STATE_DIR.`);
    return fault(`${folder} cannot be written (${code}).`, "Create it, and give it to the user of the service.");
  }
}

async function dataFolders({ dataFolders: folders, settingsPlace }: Subject): Promise<Outcome> {
  for (const folder of folders)
    try {
      await access(folder, constants.R_OK | constants.X_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const remedy = `Mount or create it, let the service's user read it, or take it out of ${settingsPlace}.`;
      return fault(`The data folder ${folder} cannot be read (${code}).`, remedy);
    }
  return ok(folders.length === 0 ? "No data folders are set." : `${folders.length} can be read.`);
}

async function secrets({ secretFiles }: Subject): Promise<Outcome> {
  for (const path of secretFiles) {
    const found = await stat(path).catch(() => undefined);
    if (found && (found.mode & 0o077) !== 0)
      return fault(`Other users of this machine may read ${path}.`, `chmod 600 ${path}`);
  }
  return ok("The secrets are set, and only their owner may read them.");
}

async function port({ port: number, edgeUrl, settingsPlace, startCommand }: Subject, signal: AbortSignal) {
  if (number === null) return ok("The edge listens elsewhere.");
  const answer = await fetch(`${edgeUrl}/health/live`, { signal }).catch(() => undefined);
  const body = (await answer?.json().catch(() => undefined)) as { status?: string } | undefined;
  if (body?.status === "live") return ok(`The service answers on port ${number}.`);
  try {
    await tryPort(number);
    return ok(`Port ${number} is free.`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const finding = `Port ${number} cannot be used (${code}), and it is not this service that listens there.`;
    return fault(finding, `End the other program, or change port in ${settingsPlace} and run ${startCommand}.`);
  }
}
