/** The embedded database: Postgres compiled to WebAssembly (PGlite), in a folder. */
import { closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/**
 * Opens the database in the folder `database` of the state folder, which must be locked, or creates it.
 *
 * @returns `failed` rejects when the database can do nothing more until the process is restarted.
 */
export async function openEmbedded(
  stateDirectory: string,
): Promise<{ readonly postgres: PGlite; readonly failed: Promise<never> }> {
  const path = join(stateDirectory, "database");
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  if (!existsSync(path)) await createEmbedded(path);
  const postgres = await openPostgres(path);
  return { postgres, failed: refuseAfterPanic(postgres) };
}

/**
 * By default, PGlite runs without fsync (-F), its NodeFS has no fsync, and its fdatasync does nothing. A power cut would then
 * lose committed rows, and could lose the database. Its buffers would be 128 MB, which are all written at the start; the
 * database is small, and the system caches its files.
 */
const openPostgres = (path: string): Promise<PGlite> =>
  PGlite.create({
    fs: new SyncedFiles(path),
    startParams: [
      ...PGlite.defaultStartParams.filter((flag) => flag !== "-F"),
      ...["-c", "wal_sync_method=fsync", "-c", "shared_buffers=16MB"],
    ],
  });

class SyncedFiles extends NodeFS {
  override async init(...given: Parameters<NodeFS["init"]>) {
    const { emscriptenOpts } = await super.init(...given);
    const addSync = ({ NODEFS }: { readonly NODEFS: NodeFiles }) => {
      NODEFS.stream_ops.fsync = ({ nfd, node }) => {
        if (nfd === undefined)
          syncPath(NODEFS.realPath(node)); // a folder, which has no descriptor
        else fsyncSync(nfd);
        return 0;
      };
    };
    const preRun = [...(emscriptenOpts.preRun as []), addSync];
    return { emscriptenOpts: { ...emscriptenOpts, preRun } as typeof emscriptenOpts };
  }
}

/** The part of Emscripten's file system for Node that is extended here. */
type NodeFiles = {
  readonly stream_ops: { fsync?: (stream: { readonly nfd?: number; readonly node: object }) => number };
  realPath(node: object): string;
};

function syncPath(path: string): void {
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/**
 * Creates the database under another name and renames it, so that a process killed in these seconds leaves nothing unfinished.
 * Its thousand files are not synced one by one, which takes up to half a minute: the system writes them within that time.
 */
async function createEmbedded(path: string): Promise<void> {
  const aside = `${path}.new`;
  await rm(aside, { recursive: true, force: true });
  await (await openPostgres(aside)).close();
  await rename(aside, path);
}

/**
 * Makes PGlite refuse every statement after a PANIC, such as on a disk without room for the log. It would otherwise retry
 * the next statement forever and block this process, which could then not even exit.
 *
 * @returns A promise that rejects at the PANIC.
 */
function refuseAfterPanic(postgres: PGlite): Promise<never> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined); // a rejection that nobody waits for must not crash the process
  let panic: Error | undefined;
  for (const name of ["execProtocol", "execProtocolStream"] as const) {
    const call = postgres[name].bind(postgres) as (...sent: unknown[]) => Promise<unknown>;
    const guarded = async (...sent: unknown[]) => {
      if (panic !== undefined) throw panic;
      try {
        return await call(...sent);
      } catch (error) {
        if (!(error instanceof Error && "severity" in error && error.severity === "PANIC")) throw error;
        panic = new Error(`The embedded database has given up: ${error.message}.`, { cause: error });
        reject(panic);
        throw panic;
      }
    };
    Object.assign(postgres, { [name]: guarded });
  }
  return failed;
}
