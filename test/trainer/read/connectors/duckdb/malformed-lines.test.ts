import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { countMalformed, rejectCount } from "../../../../../trainer/read/connectors/duckdb/malformed-lines.ts";
import { openSandbox, type Sandbox } from "../../../../../trainer/read/connectors/duckdb/sandbox.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "malformed-lines-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function withFile(
  name: string,
  content: string,
  step: (sandbox: Sandbox, count: () => Promise<number>) => unknown,
) {
  await writeFile(join(folder, name), content);
  const files = await findFiles(name, [folder]);
  const settings = { memoryMb: 256, tempDirectory: folder, timeoutSeconds: 60, diskBytesMax: 1e12, typedByRows: 1000 };
  const sandbox = await openSandbox(files, settings);
  const { explain } = sandbox;
  const limits = {
    signal: new AbortController().signal,
    timeoutSeconds: 60,
    rowsMax: 10,
    explain,
  };
  await step(sandbox, () => countMalformed(sandbox.connection, files, { limits, typesAreSure: false }));
  await sandbox.close();
}

const lines = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n)).join("");

test("malformed lines behind a LIMIT are counted, each once, also in a second count", async () => {
  const content = `a,b\n${lines(30_000, (n) => (n % 10 === 3 ? "1\n" : "1,2\n"))}`;
  await withFile("t.csv", content, async ({ connection }, count) => {
    await connection.run("FROM t LIMIT 5");
    expect(await rejectCount(connection, { typesAreSure: true })).toBe(0);
    expect(await count()).toBe(3000);
    expect(await count()).toBe(3000);
    expect(await rejectCount(connection, { typesAreSure: true })).toBe(6000);
  });
});

test("a value of another type than the sampled rows does not make its line malformed", () =>
  withFile("late.csv", `a,b\n${lines(30_000, (n) => (n < 20_000 ? "1,2\n" : "A17,2\n"))}1\n`, async (_, count) =>
    expect(await count()).toBe(1),
  ));

test("formats without lines have no malformed lines", () =>
  withFile("t.json", '[{"a": 1}]', async (_, count) => expect(await count()).toBe(0)));
