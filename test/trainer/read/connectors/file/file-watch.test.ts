import { appendFile, cp, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import {
  canComeFromChange,
  changedError,
  closeFiles,
  openFiles,
  watchFiles,
} from "../../../../../trainer/read/connectors/file/file-watch.ts";
import { StageError } from "../../../../../trainer/stage/stage-error.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "file-watch-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const ROWS = "a,b\n".repeat(3000);

async function watchedDuring(happens: (path: string) => Promise<unknown>, name = "t.csv"): Promise<boolean> {
  const path = join(root, name);
  await writeFile(path, ROWS);
  const files = await openFiles(await findFiles(name, [root]));
  const watch = watchFiles(files);
  try {
    await happens(path);
    return await watch.haveChanged(files);
  } finally {
    watch.end();
    await closeFiles(files);
  }
}
const copyOver = async (path: string, content: string) => {
  await writeFile(`${path}.new`, content);
  await truncate(path, 0); // as cp does
  await delay(250);
  await cp(`${path}.new`, path);
  await rm(`${path}.new`);
};

test.each<[string, (path: string) => Promise<unknown>]>([
  ["nothing", async () => undefined],
  ["lines that are added", (path) => appendFile(path, "c,d\n")],
])("%s: no change", async (_what, happens) => expect(await watchedDuring(happens)).toBe(false));

test.each<[string, (path: string) => Promise<unknown>]>([
  ["cut", (path) => truncate(path, 100)],
  ["cut and written again, with more at its end", (path) => copyOver(path, `${ROWS}c,d\n`)],
  ["other rows and more of them", (path) => writeFile(path, "x,yy\n".repeat(3000))],
  ["as many other bytes", (path) => writeFile(path, "x,y\n".repeat(3000))],
  ["replaced", (path) => writeFile(`${path}.new`, ROWS).then(() => rename(`${path}.new`, path))],
  ["gone", (path) => rm(path)],
  ["written at another time", (path) => utimes(path, 1, 1)],
])("%s: a change", async (_what, happens) => expect(await watchedDuring(happens)).toBe(true));

test("a folder or a file that becomes a link after it was found is not opened", async () => {
  const outside = await mkdtemp(join(tmpdir(), "file-watch-outside-"));
  await writeFile(join(outside, "t.csv"), "secret\n42\n");
  await mkdir(join(root, "inside"));
  await writeFile(join(root, "inside", "t.csv"), ROWS);
  const files = await findFiles("inside/t.csv", [root]);
  await closeFiles(await openFiles(files));

  await rename(join(root, "inside"), join(root, "moved"));
  await symlink(outside, join(root, "inside"));
  await expect(openFiles(files)).rejects.toMatchObject({ code: "file_changed" });
  await rm(join(root, "inside"));
  await mkdir(join(root, "inside"));
  await symlink(join(outside, "t.csv"), join(root, "inside", "t.csv"));
  await expect(openFiles(files)).rejects.toMatchObject({ code: "file_changed" });
  await rm(outside, { recursive: true });
});

test("only plain text files of lines may grow", async () => {
  for (const name of ["t.json", "t.parquet", "t.csv.gz"])
    expect([name, await watchedDuring((path) => appendFile(path, "c,d\n"), name)]).toEqual([name, true]);
});

test("the error names the changed files, and replaces only errors that a change can cause", async () => {
  await writeFile(join(root, "t.csv"), ROWS);
  const changed = changedError(await findFiles("t.csv", [root]));
  expect(changed).toMatchObject({ code: "file_changed", retryable: true });
  expect(changed.message).toContain('"t.csv" changed while being read');
  expect(canComeFromChange(new StageError("fetching", "file_malformed", "cut off"))).toBe(true);
  expect(canComeFromChange(new StageError("fetching", "source_timeout", "too long"))).toBe(false);
  expect(canComeFromChange(new Error("stopped"))).toBe(false);
});
