/** The folders of the state folder: one for each running run, and one for each model's kept data. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { KEPT_FILE, KEPT_FOLDER } from "../../read/dataset/kept-copy.ts";

export type ModelFolders = {
  /** A fresh folder of this run alone, and one in it for what spills over. */
  makeRun(runId: string): Promise<{ readonly work: string; readonly temp: string }>;
  removeRun(runId: string): Promise<void>;
  /** The folder of what is kept of a model between runs. */
  makeModel(customer: string, modelName: string): Promise<string>;
  removeModel(customer: string, modelName: string): Promise<void>;
  /** Removes what is kept of a customer's rows and was written before a moment: the next run reads them in full. */
  removeRows(customer: string, beforeMs: number): Promise<void>;
  /**
   * Removes the folders of runs that this process has not under way, and of unknown models.
   *
   * @param models Asked after the folders have been listed, so that a model made meanwhile is known.
   */
  sweep(models: () => Promise<readonly { readonly customer: string; readonly modelName: string }[]>): Promise<void>;
};

export function modelFolders(stateDirectory: string): ModelFolders {
  const runs = join(stateDirectory, "runs");
  const models = join(stateDirectory, "models");
  const underWay = new Set<string>();
  const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });
  const pathOf = (customer: string, modelName: string) => join(models, customer, folderName(modelName));
  return {
    async makeRun(runId) {
      underWay.add(runId);
      await remove(join(runs, runId));
      return { temp: await make(join(runs, runId, "temp")), work: join(runs, runId) };
    },
    async removeRun(runId) {
      await remove(join(runs, runId));
      underWay.delete(runId);
    },
    makeModel: (customer, modelName) => make(pathOf(customer, modelName)),
    removeModel: (customer, modelName) => remove(pathOf(customer, modelName)),
    async removeRows(customer, beforeMs) {
      for (const name of await entriesOf(join(models, customer))) {
        const rows = join(models, customer, name, KEPT_FOLDER);
        // Not by the folder's own time, which changes whenever a copy is begun.
        const list = stat(join(rows, KEPT_FILE)).catch(() => stat(rows));
        const written = await list.catch(() => undefined);
        if (written !== undefined && written.mtimeMs < beforeMs) await remove(rows);
      }
    },
    async sweep(known) {
      for (const runId of await entriesOf(runs)) if (!underWay.has(runId)) await remove(join(runs, runId));
      const found: string[] = [];
      for (const customer of await entriesOf(models))
        found.push(...(await entriesOf(join(models, customer))).map((name) => join(models, customer, name)));
      const kept = new Set((await known()).map(({ customer, modelName }) => pathOf(customer, modelName)));
      for (const path of found) if (!kept.has(path)) await remove(path);
    },
  };
}

/** `Shop` and `shop` are two models, but one folder where file names have no case: upper case is marked. */
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
