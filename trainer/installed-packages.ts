/** What `npm ci` has installed: its size, and the files that nothing on this machine loads. */
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import * as z from "zod";
import { ExpectedError } from "./expected-error.ts";

export type Machine = { readonly platform: string; readonly arch: string };

const ORT_BINARY = /^onnxruntime-node\/bin\/napi-v\d+\/(\w+)\/(\w+)\//;
const ORT_WEB = /^onnxruntime-web\/dist\/(.+)$/;
/** The Worker and the tests use the WebAssembly without threads' workers and without a GPU. */
const ORT_WEB_USED = /^ort(-wasm-simd-threaded|\.wasm(\.bundle)?(\.min)?)\.(wasm|mjs|js)$/;
/** Each is loaded by nothing here: */
const UNUSED = [
  /^node(-bin)?-(linux|darwin|win)-\w+\/(include|share)\//, // headers of Node, for compilers
  /^@opentelemetry\/[\w-]+\/build\/(esm|esnext)\//, // Node loads build/src
  /^@img\//, // libvips, which miniflare loads for Cloudflare Images only
  /\.([cm]?[jt]s|css)\.map$/, // source maps, for debuggers
];

/** Whether a file can be deleted without a change of any command or test on this machine. */
export function isUnused(path: string, { platform, arch }: Machine): boolean {
  const binary = ORT_BINARY.exec(path);
  if (binary) return binary[1] !== platform || binary[2] !== arch;
  const web = ORT_WEB.exec(path);
  if (web) return !ORT_WEB_USED.test(web[1]!);
  return UNUSED.some((pattern) => pattern.test(path));
}

/** Tools of the operating service among the development packages: they bundle and run the Worker and the console. */
const SERVICE_TOOLS = ["wrangler", "esbuild", "onnxruntime-web", "preact", "@preact/signals", "uplot"];

const Names = z.record(z.string(), z.string()).default({});
const Locked = z.object({
  packages: z.record(
    z.string(),
    z.object({ dependencies: Names, optionalDependencies: Names, peerDependencies: Names, devDependencies: Names }),
  ),
});

/**
 * The packages that the service does not need, by path below node_modules: tools of tests and checks.
 *
 * @param lock The content of package-lock.json.
 */
export function packagesOfDevelopment(lock: unknown): string[] {
  const { packages } = Locked.parse(lock);
  const needed = new Set<string>();
  const visit = (from: string, names: readonly string[]) => {
    for (const name of names) {
      const path = nearest(packages, from, name);
      if (path === undefined || needed.has(path)) continue;
      needed.add(path);
      const { dependencies, optionalDependencies, peerDependencies } = packages[path]!;
      visit(path, Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
    }
  };
  const { dependencies, optionalDependencies } = packages[""]!;
  visit("", [...Object.keys({ ...dependencies, ...optionalDependencies }), ...SERVICE_TOOLS]);
  return Object.keys(packages)
    .filter((path) => path !== "" && !needed.has(path))
    .map((path) => path.slice(FOLDER.length));
}

const FOLDER = "node_modules/";

/** Where Node finds a package that another one imports. */
function nearest(packages: Readonly<Record<string, unknown>>, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(`/${FOLDER}`)))) {
    const path = `${folder === "" ? "" : `${folder}/`}${FOLDER}${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (folder === "") return undefined;
  }
}

type File = { readonly path: string; readonly bytes: number };

/** All files of node_modules, without its caches, by path below it. */
async function installedFiles(folder: string): Promise<File[]> {
  const found: File[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
    const files = await readdir(join(folder, entry.name), { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile())) {
      const absolute = join(file.parentPath, file.name);
      const path = relative(folder, absolute).replaceAll(sep, "/");
      found.push({ path, bytes: (await lstat(absolute)).size });
    }
  }
  return found;
}

/**
 * Deletes the files that nothing here loads and, for a machine that only runs the service, the packages of development.
 *
 * @returns The bytes of all files, before and after.
 */
export async function slim(root: string, isServiceOnly: boolean): Promise<{ before: number; after: number }> {
  const folder = join(root, "node_modules");
  if ((await lstat(folder)).isSymbolicLink())
    throw new ExpectedError(`${folder} is a link: the packages belong to another checkout.`);
  const lock = isServiceOnly ? JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) : undefined;
  const packages = lock === undefined ? [] : packagesOfDevelopment(lock);
  const isDeletable = ({ path }: File) =>
    isUnused(path, process) || packages.some((name) => path.startsWith(`${name}/`));
  const files = await installedFiles(folder);
  const deletable = files.filter(isDeletable);
  for (const { path } of deletable) await rm(join(folder, path));
  for (const name of packages) await rm(join(folder, name), { recursive: true, force: true });
  const before = sumOf(files);
  return { before, after: before - sumOf(deletable) };
}

const sumOf = (files: readonly File[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);
