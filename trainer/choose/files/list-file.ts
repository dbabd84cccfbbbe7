import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, zstdDecompressSync } from "node:zlib";

/** A path that the File connector accepts: the format is in the name, and no character makes the name a pattern. */
const TABLE_NAME = /^[^*?[\]{}\\]+\.(csv|tsv|parquet|json|jsonl|ndjson)(\.(gz|zst))?$/i;
const LIST_LINE = /^\d+(\s+\d+)*$/;
const LINES_CHECKED = 1000;

export type PlainTable = {
  /** The same file, or a copy in the work directory that the File connector can read. */
  readonly path: string;
  /** Whether each line of the file was the id of a user, then the ids of the user's items. */
  readonly wasLists: boolean;
};

/**
 * A file as the File connector can read it. A file of another name, such as `.txt`, is copied as CSV. Lines of whole numbers, as in
 * the splits that the authors of LightGCN publish, become rows `user_id,item_id`.
 *
 * @param name Stem of the copy.
 * @param areLists Whether lines that all have the same length count as lists too: without a header, only lines of different lengths
 * are certainly no table.
 */
export async function plainTable(
  path: string,
  {
    name,
    workDirectory,
    areLists,
  }: { readonly name: string; readonly workDirectory: string; readonly areLists: boolean },
): Promise<PlainTable> {
  if (TABLE_NAME.test(path)) return { path, wasLists: false };
  const [, format = "csv", compression = ""] =
    /(?:\.(csv|tsv|parquet|json|jsonl|ndjson))?(\.(?:gz|zst))?$/i.exec(path) ?? [];
  const lines = format === "csv" ? await linesOf(path, compression.toLowerCase()) : [];
  const isList = linesAreLists(lines, areLists);
  const copy = join(workDirectory, `${name}.${format}${isList ? "" : compression}`);
  if (isList) await writeFile(copy, rowsOf(lines));
  else await copyFile(path, copy);
  return { path: copy, wasLists: isList };
}

async function linesOf(path: string, compression: string): Promise<string[]> {
  const bytes = await readFile(path);
  const text = compression === ".gz" ? gunzipSync(bytes) : compression === ".zst" ? zstdDecompressSync(bytes) : bytes;
  return text.toString("utf8").split("\n");
}

function linesAreLists(lines: readonly string[], mayBeEven: boolean): boolean {
  const first = lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, LINES_CHECKED);
  const lengths = new Set(first.map((line) => line.split(/\s+/).length));
  return first.length > 0 && first.every((line) => LIST_LINE.test(line)) && (mayBeEven || lengths.size > 1);
}

function rowsOf(lines: readonly string[]): string {
  const rows = lines.flatMap((line) => {
    const [user, ...items] = line.trim().split(/\s+/);
    return items.map((item) => `${user},${item}`);
  });
  return ["user_id,item_id", ...rows, ""].join("\n");
}
