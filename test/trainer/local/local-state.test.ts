import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readLocalService, writeLocalService } from "../../../trainer/local/local-state.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "state-"));
});
afterEach(() => rm(state, { recursive: true }));

const service = { edge_url: "http://127.0.0.1:1", trainer_url: "http://127.0.0.1:2", api_key: "rk_x", model_name: "m" };

test("local.json is read back and only the owner may read it", async () => {
  expect(await readLocalService(state)).toBeUndefined();
  await writeLocalService(state, service);
  expect(await readLocalService(state)).toEqual(service);
  expect((await stat(join(state, "local.json"))).mode & 0o777).toBe(0o600);
  expect(await readdir(state)).toEqual(["local.json"]);
});

test("a damaged file is named in the error", async () => {
  await writeFile(join(state, "local.json"), "{");
  await expect(readLocalService(state)).rejects.toThrow(/local\.json cannot be read: delete it/);
});
