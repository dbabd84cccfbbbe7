/** The package as `npm publish` would send it, in a project of its own that has no zod. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

let folder: string;
const run = (program: string, args: string[], cwd = folder) => execFileSync(program, args, { cwd, encoding: "utf8" });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "client-package-"));
  // A copy, since packing writes into the folder of the package.
  const source = join(folder, "source");
  for (const name of ["edge", "shared", "package.json", "tsconfig.json"])
    await cp(name, join(source, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(source, "node_modules"));
  run("npm", ["pack", "--ignore-scripts=false", "--silent", "--pack-destination", folder], join(source, "edge/client"));
  expect(existsSync(join(source, "edge/client/dist"))).toBe(false);
  const installed = join(folder, "node_modules/shortlist-client");
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", "shortlist-client-0.1.0.tgz", "--strip-components=1", "-C", installed]);
  await rm(source, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  writeFileSync(
    join(folder, "main.ts"),
    `import { type ItemId, type ModelRecord, type RankedItems, Shortlist, ShortlistError } from "shortlist-client";
import { ShortlistRow } from "shortlist-client/shortlist-row"; // a server that renders pages may import it
export const refresh = (): void => new ShortlistRow().refresh();
const client = new Shortlist({ url: "http://127.0.0.1:9", apiKey: "rk_key" });
export const ids = (): Promise<ItemId[]> => client.rank("shop", { user_id: 7 });
export const ranked = (): Promise<RankedItems> => client.rank("shop", { return: ["scores"] });
export const status = (record: ModelRecord): "ACTIVE" | undefined => record.status === "ACTIVE" ? record.status : undefined;
// @ts-expect-error: a type of its own, which is not any
export const wrong = (): Promise<number> => client.rank("shop");
// @ts-expect-error: no such field
export const unknownField = () => client.rank("shop", { users: 7 });
const error = await client.rank("shop", {}, { timeoutMs: 100 }).catch((error: unknown) => error);
if (!(error instanceof ShortlistError) || error.code !== "network") throw error;
console.log(error.code);
`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(["nodenext", "bundler"])("its types are complete for a module resolution of %s", (moduleResolution) => {
  const flags = ["--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--types", ""];
  const module = moduleResolution === "bundler" ? "esnext" : "nodenext";
  const tsc = [resolve("node_modules/typescript/bin/tsc"), "--ignoreConfig"];
  const args = [...tsc, ...flags, "--module", module, "--moduleResolution", moduleResolution, "main.ts"];
  expect(run(process.execPath, args)).toBe("");
});

test("it runs", () => expect(run(process.execPath, ["main.ts"])).toBe("network\n"));
