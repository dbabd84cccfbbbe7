import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";

const FIRST_VIEW_BYTES_MAX = 60_000;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "console-"));
  const { build, assets } = readConfig({ config: "wrangler.toml" }, { hideWarnings: true });
  const command = build.command!.replaceAll(".wrangler/public", directory);
  expect(assets?.directory).toMatch(/\.wrangler\/public$/);
  execFileSync("sh", ["-c", command], { stdio: "pipe" });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const built = (name: string) => readFileSync(join(directory, name));

test("the first view has at most 60 kB, and has no plots", () => {
  const page = String(built("index.html"));
  const named = [...page.matchAll(/(?:src|href)="\/([\w.-]+)"/g)].map(([, name]) => name!);
  expect(named).toEqual(["console.css", "console.js"]);
  const files = new Set(["index.html", ...named]);
  for (const name of files)
    for (const [, imported] of String(built(name)).matchAll(/(?:from|import)"\.\/([\w.-]+)"/g)) files.add(imported!);
  const bytes = [...files].reduce((sum, name) => sum + gzipSync(built(name)).length, 0);
  expect(bytes).toBeLessThan(FIRST_VIEW_BYTES_MAX);
  for (const name of files) expect(String(built(name))).not.toMatch(/uplot/i); // plots load on demand
});

test("the client is one file", () => expect(String(built("client.js"))).not.toMatch(/\bimport\b/));

test("the row of a web page is one file of at most 6 kB", () => {
  expect(String(built("shortlist-row.js"))).not.toMatch(/\bimport\b(?!\.meta)/);
  expect(gzipSync(built("shortlist-row.js")).length).toBeLessThanOrEqual(6000);
});
