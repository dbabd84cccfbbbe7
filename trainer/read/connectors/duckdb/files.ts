import type { Stats } from "node:fs";
import { glob, realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, sep } from "node:path";
import { clipped } from "../../../../shared/clipped.ts";
import { sourceError } from "../source-error.ts";

export type FileFormat = "csv" | "tsv" | "parquet" | "json" | "jsonl";
export type FileCompression = "none" | "gzip" | "zstd";

/** A file that a customer may read, and its table. */
export type SourceFile = {
  readonly path: string; // to read it by
  readonly realPath: string; // absolute, with symbolic links resolved, below an allowed folder
  readonly shownAs: string; // relative to that folder, for error messages
  readonly table: string; // the stem of the file name
  readonly format: FileFormat;
  readonly compression: FileCompression;
  readonly sizeBytes: number;
  /** True when the name does not tell the format: the content of the opened file does. */
  readonly isFormatUnknown?: boolean;
};

const FILES_MAX = 200;
const LOCATION_LENGTH_MAX = 1000;
const FORMATS: Readonly<Record<string, FileFormat>> = {
  csv: "csv",
  tsv: "tsv",
  parquet: "parquet",
  json: "json",
  jsonl: "jsonl",
  ndjson: "jsonl",
};
const NAME = /^(.+?)\.(csv|tsv|parquet|json|jsonl|ndjson)(?:\.(gz|zst))?$/i;
const GLOB = /[*?[\]{}]/;
/** A list of names such as `{csv,tsv.gz}`. Other braces are refused: they could leave the folder or expand without bound. */
const ALTERNATIVES = /\{[^{}[\].,/*]+(?:\.[^{}[\].,/*]+)*(?:,[^{}[\].,/*]+(?:\.[^{}[\].,/*]+)*)+\}/g;
const PATTERNS_MAX = 100;

/**
 * The files that a location names: a file or a glob, relative to one of the customer's folders or absolute below one.
 * Sorted by path.
 *
 * Throws StageError: `bad_location`, `no_allowed_folder`, `location_not_allowed`, `file_not_found`,
 * `unknown_file_format`, `table_name_clash`, `too_many_files`.
 */
export async function findFiles(location: string, roots: readonly string[]): Promise<SourceFile[]> {
  checkLocation(location);
  if (roots.length === 0)
    fail("no_allowed_folder", "This customer may not read files here: the operator has to allow a folder first");
  // A file whose name looks like a pattern is meant itself.
  const named = await namedFile(location, roots);
  if (named !== undefined) return [named];
  if (!GLOB.test(location)) failNotFound(location, { leftOut: 0, isGlob: false });
  checkPattern(location);
  const paths = new Map<string, SourceFile>();
  let leftOut = 0;
  for (const root of roots) {
    const within = await patternBelow(root, location);
    if (within === undefined) continue;
    for await (const path of glob(within, { cwd: root })) {
      const file = await openable(join(root, path), root, true);
      if (file === undefined) leftOut++;
      else paths.set(file.path, file);
      if (paths.size > FILES_MAX)
        fail("too_many_files", `${shown(location)} matches more than ${FILES_MAX} files; name fewer`);
    }
  }
  if (paths.size === 0) failNotFound(location, { leftOut, isGlob: true });
  const files = [...paths.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  checkNames(files);
  return files;
}

/** The file with exactly this name in the first folder that has one. */
async function namedFile(location: string, roots: readonly string[]): Promise<SourceFile | undefined> {
  for (const root of roots) {
    const within = await patternBelow(root, location);
    const file = within === undefined ? undefined : await openable(join(root, within), root, false);
    if (file !== undefined) return file;
  }
  return undefined;
}

const refuse = (location: string, reason: string): never =>
  fail("bad_location", `The location ${shown(location)} ${reason}; expected a path such as "shop/*.csv"`);

function checkLocation(location: string): void {
  if (location.length > LOCATION_LENGTH_MAX) refuse(location, `is longer than ${LOCATION_LENGTH_MAX} characters`);
  if (location.includes("\0")) refuse(location, "contains a NUL");
  if (/^[a-z][a-z0-9+.-]*:/i.test(location)) refuse(location, "is an address, and the File connector reads files only");
  if (location.includes("\\")) refuse(location, "contains a backslash; write / between folders");
  if (location.split("/").includes("..")) refuse(location, "contains ..");
}

function checkPattern(location: string): void {
  if (location.split("/").includes("**")) refuse(location, "contains **; name the folders");
  if (/\[[^\]]*\./.test(location)) refuse(location, "has a dot in brackets");
  if (/[{}]/.test(location.replaceAll(ALTERNATIVES, "")))
    refuse(location, "has braces that are no list of names like {csv,tsv}");
  const lists = location.match(ALTERNATIVES) ?? [];
  const patterns = lists.reduce((product, list) => product * list.split(",").length, 1);
  if (patterns > PATTERNS_MAX)
    refuse(location, `is ${patterns} patterns in one, and at most ${PATTERNS_MAX} are looked for`);
}

/** The location relative to a root; undefined when it is an absolute path outside of it. */
async function patternBelow(root: string, location: string): Promise<string | undefined> {
  if (!isAbsolute(location)) return location;
  for (const form of [root, await realpath(root).catch(() => root)]) {
    const prefix = form.endsWith(sep) ? form : form + sep;
    if (location.startsWith(prefix)) return location.slice(prefix.length);
  }
  return undefined;
}

/** The file at a path; undefined when it is absent, or when it matches a glob and its name does not tell a format. */
async function openable(path: string, root: string, isGlob: boolean): Promise<SourceFile | undefined> {
  const found = await statIfThere(path);
  if (found === undefined) return undefined;
  const realRoot = await realpath(root);
  const real = await realpath(path);
  const shownAs = relative(realRoot, real);
  // The target of a symbolic link is read, so the target must be allowed.
  if (shownAs === "" || shownAs.startsWith("..") || isAbsolute(shownAs))
    fail("location_not_allowed", `${shown(relative(root, path))} leads outside the allowed folder`);
  const match = NAME.exec(basename(path));
  if (isGlob && (match === null || !found.isFile())) return undefined;
  if (found.isDirectory())
    fail("bad_location", `${shown(relative(root, path))} is a folder; write ${shown(`${relative(root, path)}/*.csv`)}`);
  if (!found.isFile()) fail("bad_location", `${shown(relative(root, path))} is not a regular file`);
  const file = { path: real, realPath: real, shownAs, sizeBytes: found.size };
  if (match === null) {
    const table = basename(path)
      .replace(/(?<=.)\.(gz|zst)$/i, "")
      .replace(/(?<=.)\.[^.]*$/, "");
    return { ...file, table, format: "csv", compression: "none", isFormatUnknown: true };
  }
  const compression = match[3] === undefined ? "none" : match[3].toLowerCase() === "gz" ? "gzip" : "zstd";
  const format = FORMATS[match[2]!.toLowerCase()]!;
  if (format === "parquet" && compression !== "none")
    fail(
      "unknown_file_format",
      `${shown(shownAs)} is a compressed Parquet file; Parquet is compressed inside, so give it as .parquet`,
    );
  return { ...file, table: match[1]!, format, compression };
}

const statIfThere = (path: string): Promise<Stats | undefined> =>
  stat(path).catch(({ code }: NodeJS.ErrnoException) => {
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return fail("file_not_readable", `${shown(basename(path))} cannot be read (${code})`);
  });

function checkNames(files: readonly SourceFile[]): void {
  const byName = new Map<string, SourceFile>();
  for (const file of files) {
    const clash = byName.get(file.table.toLowerCase()); // names in DuckDB ignore case
    if (clash)
      fail(
        "table_name_clash",
        `${shown(clash.shownAs)} and ${shown(file.shownAs)} would both be the table ${shown(file.table)}; ` +
          "rename one, or give them to two connectors",
      );
    byName.set(file.table.toLowerCase(), file);
  }
}

function failNotFound(location: string, { leftOut, isGlob }: { leftOut: number; isGlob: boolean }): never {
  if (isAbsolute(location) && leftOut === 0)
    fail(
      "location_not_allowed",
      `${shown(location)} is not there, or not below a folder that the operator has allowed`,
    );
  if (isGlob && leftOut > 0)
    fail("file_not_found", `${shown(location)} matches no file that ends in ${Object.keys(FORMATS).join(", ")}`);
  return fail("file_not_found", `There is no file ${shown(location)} below the allowed folder`);
}

const shown = (text: string) => JSON.stringify(text.length > 200 ? `${clipped(text, 200)}…` : text);

function fail(code: string, message: string): never {
  throw sourceError({ code, message });
}
