import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Where the long fits of a model's run keep their state, so that the run begun again after a crash goes on there. */
export type KeptFits = {
  readonly folder: string;
  /** Once the run has ended: the next one has other data. */
  remove(): Promise<void>;
};

/** Longer than any run lasts with its retries. */
const KEPT_MS = 3 * 86_400_000;

/** The folder within a model's own; what an abandoned run left there is removed after three days. */
export async function openKeptFits(modelDirectory: string, nowMs: number): Promise<KeptFits> {
  const folder = join(modelDirectory, "fits");
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (nowMs - (await stat(path)).mtimeMs > KEPT_MS) await rm(path, { force: true });
  }
  return { folder, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
}
