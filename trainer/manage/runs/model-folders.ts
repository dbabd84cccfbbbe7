/** The folders inside the state folder: `runs/{runId}` while a run works, `models/{customer}/{model}` between runs. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { KEPT_FILE, KEPT_FOLDER } from "../../read/dataset/kept-copy.ts";

export type ModelFolders = {
  /** An empty folder for this run alone, and a folder in it for temporary files of databases. */
  makeRun(runId: string): Promise<{ readonly work: string; readonly temp: string }>;
  removeRun(runId: string): Promise<void>;
  /** The folder of the files that a model keeps between runs. */
  makeModel(customer: string, modelName: string): Promise<string>;
  removeModel(customer: string, modelName: string): Promise<void>;
  /** Removes the customer's kept rows that were written before a time, so that the next run reads all rows again. */
  removeRows(customer: string, beforeMs: number): Promise<void>;
  /**
   * Removes the folders of runs that do not work in this process, and of unknown models.
   *
   * @param models Called after the folders were listed, so that a model created meanwhile is known.
   */
  sweep(models: () => Promise<readonly { readonly customer: string; readonly modelName: string }[]>): Promise<void>;
};

export function modelFolders(stateDirectory: string): ModelFolders {
  const runs = join(stateDirectory, "runs");
  const models = join(stateDirectory, "models");
  const working = new Set<string>();
  const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });
  const pathOf = (customer: string, modelName: string) => join(models, customer, folderName(modelName));
  return {
    async makeRun(runId) {
      working.add(runId);
      await remove(join(runs, runId));
      return { temp: await make(join(runs, runId, "temp")), work: join(runs, runId) };
    },
    async removeRun(runId) {
      await remove(join(runs, runId));
      working.delete(runId);
    },
    makeModel: (customer, modelName) => make(pathOf(customer, modelName)),
    removeModel: (customer, modelName) => remove(pathOf(customer, modelName)),
    async removeRows(customer, beforeMs) {
      for (const name of await entriesOf(join(models, customer))) {
        const rows = join(models, customer, name, KEPT_FOLDER);
        // The time of the folder itself also changes when the next copy is begun.
        const list = stat(join(rows, KEPT_FILE)).catch(() => stat(rows));
        const written = await list.catch(() => undefined);
        if (written !== undefined && written.mtimeMs < beforeMs) await remove(rows);
      }
    },
    async sweep(known) {
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
