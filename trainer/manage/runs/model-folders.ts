/** The folders inside the state folder: `runs/{runId}` while a run works, `models/{customer}/{model}` between runs. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { EVENTS_FOLDER } from "../../read/connectors/events/fetch-events.ts";
import { KEPT_FILE, KEPT_FOLDER } from "../../read/dataset/kept-copy.ts";

export type ModelFolders = ReturnType<typeof modelFolders>;

export function modelFolders(stateDirectory: string) {
  const runs = join(stateDirectory, "runs");
  const models = join(stateDirectory, "models");
  const working = new Set<string>();
  const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });
  const pathOf = (customer: string, modelName: string) => join(models, customer, folderName(modelName));
  return {
    /** An empty folder for this run alone, and a folder in it for temporary files of databases. */
    async makeRun(runId: string) {
      working.add(runId);
      await remove(join(runs, runId));
      return { temp: await make(join(runs, runId, "temp")), work: join(runs, runId) };
    },
    async removeRun(runId: string): Promise<void> {
      await remove(join(runs, runId));
      working.delete(runId);
    },
    /** The folder of the files that a model keeps between runs. */
    makeModel: (customer: string, modelName: string) => make(pathOf(customer, modelName)),
    removeModel: (customer: string, modelName: string) => remove(pathOf(customer, modelName)),
    /** Removes the customer's kept rows and events that were written before a time. The next run reads them all again. */
    async removeRows(customer: string, beforeMs: number): Promise<void> {
      for (const name of await entriesOf(join(models, customer))) {
        const rows = join(models, customer, name, KEPT_FOLDER);
        // The time of the folder itself also changes when the next copy is begun.
        const list = stat(join(rows, KEPT_FILE)).catch(() => stat(rows));
        const written = await list.catch(() => undefined);
        if (written !== undefined && written.mtimeMs < beforeMs) await remove(rows);
        const events = join(models, customer, name, EVENTS_FOLDER);
        for (const file of await entriesOf(events)) {
          const copied = await stat(join(events, file)).catch(() => undefined);
          if (copied !== undefined && copied.mtimeMs < beforeMs) await remove(join(events, file));
        }
      }
    },
    /**
     * Removes the folders of runs that do not work in this process, and of unknown models.
     *
     * @param known Called after the folders were listed, so that a model created meanwhile is known.
     */
    async sweep(known: () => Promise<readonly { readonly customer: string; readonly modelName: string }[]>) {
      for (const runId of await entriesOf(runs)) if (!working.has(runId)) await remove(join(runs, runId));
      const found: string[] = [];
      for (const customer of await entriesOf(models))
        found.push(...(await entriesOf(join(models, customer))).map((name) => join(models, customer, name)));
      const kept = new Set((await known()).map(({ customer, modelName }) => pathOf(customer, modelName)));
      for (const path of found) if (!kept.has(path)) await remove(path);
    },
  };
}

/** Upper-case letters are marked, because some file systems take `Shop` and `shop`, which are two models, for one name. */
const folderName = (modelName: string) => modelName.replace(/[A-Z]/g, (letter) => `~${letter}`);

async function make(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

async function entriesOf(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
