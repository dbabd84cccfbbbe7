/**
 * The state folder of `npm start`: `local.json` with the addresses and the API key, readable by its owner only, and the
 * folders `r2`, `trainer`, `data`, `logs` and `compiled` (Node's compile cache).
 */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { LocalError } from "./local-error.ts";

const LocalService = z.looseObject({
  edge_url: z.url(),
  trainer_url: z.url(),
  /** A key of the customer `local`. */
  api_key: z.string(),
  model_name: z.string(),
});
export type LocalService = z.infer<typeof LocalService>;

export const LOCAL_CUSTOMER = "local";

/** Undefined if no service has been started with this state folder. */
export async function readLocalService(state: string): Promise<LocalService | undefined> {
  const path = join(state, "local.json");
  try {
    return LocalService.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new LocalError(`${path} cannot be read: delete it, or choose another --state folder.`, { cause });
  }
}

/** Replaces the file atomically, so that scripts never read a part of it. */
export async function writeLocalService(state: string, service: LocalService): Promise<void> {
  const path = join(state, "local.json");
  await writeFile(`${path}.new`, `${JSON.stringify(service, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
