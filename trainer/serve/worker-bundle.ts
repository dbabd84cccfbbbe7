import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";

const ROOT = join(import.meta.dirname, "../..");
const WASM = "onnxruntime-web/ort-wasm-simd-threaded.wasm";
const MANIFEST = "bundle.json";

/** The Worker as workerd runs it, in one folder. Variables and dates are those of wrangler.toml. */
const WorkerBundle = z.object({
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  vars: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});
export type WorkerBundle = z.infer<typeof WorkerBundle> & {
  readonly script: string; // path
  readonly wasm: { readonly name: string; readonly path: string };
  /** The folder of the console, the clients and the docs' script. */
  readonly pages: string;
};

/** Opens a bundle that `bundleWorker` has made. */
export async function openBundle(folder: string): Promise<WorkerBundle> {
  const manifest = WorkerBundle.parse(JSON.parse(await readFile(join(folder, MANIFEST), "utf8")));
  return {
    ...manifest,
    script: join(folder, "worker.js"),
    wasm: { name: WASM, path: join(folder, "ort.wasm") },
    pages: join(folder, "pages"),
  };
}

/** Bundles the Worker and the pages beside it into a folder. wrangler.toml stays the one definition for both roads to production. */
export async function bundleWorker(folder: string): Promise<WorkerBundle> {
  await mkdir(folder, { recursive: true });
  const [{ build }, { unstable_readConfig: readConfig }] = await Promise.all([import("esbuild"), import("wrangler")]);
  const config = readConfig({ config: join(ROOT, "wrangler.toml") }, { hideWarnings: true });
  const buildPages = config.build.command!.replaceAll(config.assets!.directory!, join(folder, "pages"));
  await Promise.all([
    build({
      entryPoints: { worker: join(ROOT, "edge/self-hosted/worker.ts") },
      outdir: folder,
      bundle: true,
      format: "esm",
      target: "es2024",
      minifySyntax: true,
      external: ["cloudflare:*", WASM],
      conditions: ["workerd", "worker", "import"],
      logLevel: "warning",
    }),
    promisify(execFile)("sh", ["-c", buildPages], { cwd: ROOT }),
    copyFile(createRequire(import.meta.url).resolve(WASM), join(folder, "ort.wasm")),
  ]);
  await writeFile(join(folder, MANIFEST), JSON.stringify(WorkerBundle.parse(config)));
  return await openBundle(folder);
}
