import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ensureLocalSecrets,
  localS3,
  readLocalService,
  readLocalSources,
  writeLocalService,
  writeLocalSources,
} from "../../../trainer/local/local-state.ts";

let state: string;
beforeEach(async () => {
  state = join(await mkdtemp(join(tmpdir(), "state-")), "deep", "state");
});
afterEach(() => rm(join(state, "..", ".."), { recursive: true }));

const service = { edge_url: "http://127.0.0.1:1", trainer_url: "http://127.0.0.1:2", api_key: "rk_x", model_name: "m" };

test("secrets are generated once per state folder", async () => {
  const secrets = await ensureLocalSecrets(state);
  expect(await ensureLocalSecrets(state)).toEqual(secrets);
  expect(await ensureLocalSecrets(join(state, "other"))).not.toEqual(secrets);
  expect(localS3("http://127.0.0.1:8787", secrets).endpoint).toBe("http://127.0.0.1:8787/cdn-cgi/local/r2/s3");
});

test("files are read back and only the owner may read them", async () => {
  expect(await readLocalService(state)).toBeUndefined();
  expect(await readLocalSources(state)).toEqual({});
  await ensureLocalSecrets(state);
  await writeLocalService(state, service);
  await writeLocalSources(state, { m: { fingerprint: "f", folders: ["/data"] } });
  expect(await readLocalService(state)).toEqual(service);
  expect(await readLocalSources(state)).toEqual({ m: { fingerprint: "f", folders: ["/data"] } });
  for (const name of await readdir(state)) expect((await stat(join(state, name))).mode & 0o777).toBe(0o600);
  expect(await readdir(state)).toEqual(["local.json", "secrets.json", "sources.json"]);
});

test("a damaged file is named in the error", async () => {
  await writeLocalService(state, service);
  await writeFile(join(state, "local.json"), "{");
  await expect(readLocalService(state)).rejects.toThrow(/local\.json is damaged: delete it/);
});
