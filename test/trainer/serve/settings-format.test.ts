import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readServeSettings } from "../../../trainer/serve/serve-settings.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "settings-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));
const write = (settings: object) => writeFile(join(dir, "settings.json"), JSON.stringify(settings));

/** As release 0.1.0 writes it. Never changed: every later release must open it. */
const FROZEN = {
  format: 1,
  host: "127.0.0.1",
  port: 8787,
  metrics_port: 9464,
  customer: "main",
  data_roots: ["/data"],
  workers: 2,
  objects: { kind: "disk" },
  environment: { SHORTLIST_RUN_MEMORY_MB: 2048 },
  forward_secret: "f".repeat(64),
  internal_secret: "i".repeat(64),
};

test("settings of release 0.1.0 open", async () => {
  await write(FROZEN);
  expect(await readServeSettings(dir)).toEqual(FROZEN);
});

test("settings of a newer release are refused in one sentence, whatever else they have", async () => {
  await write({ format: 2, ports: [1] });
  await expect(readServeSettings(dir)).rejects.toThrow(
    /^A newer release has written .* \(format 2; this one knows 1\)/,
  );
  await write({ ...FROZEN, format: 0 });
  await expect(readServeSettings(dir)).rejects.toThrow("format");
});
