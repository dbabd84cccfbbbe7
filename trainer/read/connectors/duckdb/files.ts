import type { Stats } from "node:fs";
import { glob, realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, sep } from "node:path";
import { clipped } from "../../../../shared/clipped.ts";
import { failSource as fail } from "../source-error.ts";

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
  /** When it was last written: epoch milliseconds. */
  readonly writtenMs: number;
  /** Values of columns that the path names, such as `dt=2024-01-01`; null for none. Absent: no such columns. */
  readonly partition?: Readonly<Record<string, string | null>>;
  /** True when the name does not tell the format: the content of the opened file does. */
  readonly isFormatUnknown?: boolean;
};

/** Files of a pattern, and files of all tables that a connector names. */
const FILES_MAX = { glob: 200, table: 10_000 };
/** Files and folders that a search looks at. */
const ENTRIES_MAX = 200_000;
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
/** Whether the name of a file tells its format. */
export const isTableFile = (name: string): boolean => NAME.test(name);
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
  const files = await search(location, roots, "glob");
  checkNames(files);
  return files;
}

/**
 * The files of named tables. A location is a file, a folder with all files below it whose names tell their format, or a pattern, also
 * with `**`. Files and folders whose names begin with `_` or `.` are left out, as other readers of such folders do.
 *
 * Throws what findFiles throws, except `table_name_clash`.
 */
export async function findTables(
  tables: Readonly<Record<string, string>>,
  roots: readonly string[],
): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const [table, location] of Object.entries(tables)) {
    for (const file of await search(location, roots, "table")) files.push({ ...file, table });
    if (files.length > FILES_MAX.table)
      fail("too_many_files", `The tables have more than ${FILES_MAX.table} files; join some of them`);
  }
  return files;
}

async function search(location: string, roots: readonly string[], foundBy: "glob" | "table"): Promise<SourceFile[]> {
  checkLocation(location);
  if (roots.length === 0)
    fail("no_allowed_folder", "This customer may not read files here: the operator has to allow a folder first");
  const folder = foundBy === "table" ? await folderNamed(location, roots) : undefined;
  if (folder === undefined) {
    const named = await namedFile(location, roots); // a file whose name looks like a pattern is meant itself
    if (named !== undefined) return [named];
    if (!GLOB.test(location)) failNotFound(location);
    checkPattern(location, foundBy);
  }
  const paths = new Map<string, SourceFile>();
  const leftOut: string[] = [];
  for await (const { path, root } of folder ? matches("**/*", folder, foundBy) : matchesOf(location, roots, foundBy)) {
    const file = await openable(path, root, foundBy);
    if (file === undefined || (folder && file.isFormatUnknown)) leftOut.push(basename(path));
    else paths.set(file.path, { ...file, ...(foundBy === "table" && partitionOf(relative(root, path))) });
    if (paths.size > FILES_MAX[foundBy])
      fail("too_many_files", `${shown(location)} matches more than ${FILES_MAX[foundBy]} files; name fewer`);
  }
  if (paths.size === 0) failNotFound(location, leftOut);
  return [...paths.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Each allowed folder that can have the location, with the location relative to it. */
async function* below(location: string, roots: readonly string[]) {
  for (const root of roots) {
    const within = await patternBelow(root, location);
    if (within !== undefined) yield { root, within, path: join(root, within) };
  }
}

async function* matchesOf(location: string, roots: readonly string[], foundBy: FoundBy) {
  for await (const { root, within } of below(location, roots)) yield* matches(within, { root, path: root }, foundBy);
}

/** The paths below a folder that match, each with its allowed folder. */
async function* matches(pattern: string, { root, path: cwd }: { root: string; path: string }, foundBy: FoundBy) {
  let entries = 0;
  const exclude = () => ++entries > ENTRIES_MAX;
  for await (const path of glob(pattern, { cwd, exclude }))
    if (foundBy !== "table" || !/(^|\/)[._]/.test(path)) yield { path: join(cwd, path), root };
  if (entries > ENTRIES_MAX)
    fail("too_many_files", `${shown(pattern)} looks at more than ${ENTRIES_MAX} files; name the folders`);
}

/** The folder with exactly this name, in the first allowed folder that has one. */
async function folderNamed(location: string, roots: readonly string[]) {
  for await (const { root, path } of below(location, roots)) {
    const found = await statIfThere(path);
    if (found?.isDirectory()) {
      const [real, realRoot] = [await realpath(path), await realpath(root)];
      if (real !== realRoot) shownBelow(real, path, { root, realRoot });
      return { root, path };
    }
    if (found !== undefined) return undefined;
  }
  return undefined;
}

/** Values in the names of folders, as Hive, Spark, Athena and BigQuery write them. */
function partitionOf(path: string): Pick<SourceFile, "partition"> {
  const named = [...path.matchAll(/(?<=^|\/)([^=/]+)=([^/]*)\//g)];
  const values = named.map(([, name, value]) => [decoded(name!), value === NO_VALUE ? null : decoded(value!)]);
  return values.length === 0 ? {} : { partition: Object.fromEntries(values) };
}
const NO_VALUE = "__HIVE_DEFAULT_PARTITION__";

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The file with exactly this name in the first folder that has one. */
async function namedFile(location: string, roots: readonly string[]): Promise<SourceFile | undefined> {
  for await (const { root, path } of below(location, roots)) {
    const file = await openable(path, root, "named");
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

function checkPattern(location: string, foundBy: FoundBy): void {
  const deep = location.split("/").filter((part) => part.includes("**")).length;
  if (deep > 0 && foundBy !== "table")
    refuse(location, "contains **; name the folders, or name the tables of the connector");
  if (deep > 1) refuse(location, "contains ** more than once");
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
    if (location === form) return ".";
    const prefix = form.endsWith(sep) ? form : form + sep;
    if (location.startsWith(prefix)) return location.slice(prefix.length);
  }
  return undefined;
}

/** How a path was found: by its own name, by a pattern for tables, or by a pattern for the files of one table. */
type FoundBy = "named" | "glob" | "table";

/** The file at a path; undefined when it is absent, or when a pattern found it and it is no table. */
async function openable(path: string, root: string, foundBy: FoundBy): Promise<SourceFile | undefined> {
  const found = await statIfThere(path);
  if (found === undefined) return undefined;
  const real = await realpath(path);
  const shownAs = shownBelow(real, path, { root, realRoot: await realpath(root) });
  const match = NAME.exec(basename(path));
  if (foundBy !== "named" && !found.isFile()) return undefined;
  if (foundBy === "glob" && match === null) return undefined;
  if (found.isDirectory())
    fail("bad_location", `${shown(relative(root, path))} is a folder; write ${shown(`${relative(root, path)}/*.csv`)}`);
  if (!found.isFile()) fail("bad_location", `${shown(relative(root, path))} is not a regular file`);
  const file = { path: real, realPath: real, shownAs, sizeBytes: found.size, writtenMs: found.mtimeMs };
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

/** The path below the allowed folder. The target of a symbolic link is read, so the target must be allowed. */
function shownBelow(real: string, path: string, { root, realRoot }: { root: string; realRoot: string }): string {
  const shownAs = relative(realRoot, real);
  if (shownAs === "" || shownAs.startsWith("..") || isAbsolute(shownAs))
    fail("location_not_allowed", `${shown(relative(root, path))} leads outside the allowed folder`);
  return shownAs;
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

/** Files that a message names. */
const NAMED_MAX = 5;

function failNotFound(location: string, leftOut: readonly string[] = []): never {
  if (isAbsolute(location) && leftOut.length === 0)
    fail(
      "location_not_allowed",
      `${shown(location)} is not there, or not below a folder that the operator has allowed`,
    );
  if (leftOut.length > 0) {
    const endings = Object.keys(FORMATS).join(", ");
    const others = [...leftOut.slice(0, NAMED_MAX).map(shown), ...(leftOut.length > NAMED_MAX ? ["others"] : [])];
    fail(
      "file_not_found",
      `${shown(location)} matches no file that ends in ${endings}: name one of ${others.join(", ")}`,
    );
  }
  return fail("file_not_found", `There is no file ${shown(location)} below the allowed folder`);
}

const shown = (text: string) => JSON.stringify(text.length > 200 ? `${clipped(text, 200)}…` : text);
