import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { countOf, stringAt } from "../../../shared/packed-strings.ts";
import {
  checkInteractions,
  interactionColumns,
  numberIds,
  readIds,
  readInteractions,
} from "../../../trainer/dataset/read-interactions.ts";
import { openStaging, runStaged, type Staging, stageRows } from "../../../trainer/dataset/staging.ts";
import { fileSettings } from "../../fixtures/real-data.ts";
import { connectMemory } from "../../fixtures/rows-memory.ts";
import { specOf } from "../../fixtures/rows-spec.ts";

let folder: string;
let staging: Staging;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-interactions-"));
  staging = await openStaging({ workDirectory: folder, memoryMb: 128 });
});
afterEach(async () => {
  await staging.close();
  await rm(folder, { recursive: true });
});

const signal = new AbortController().signal;
const { schema } = specOf({ interactions: "" });

async function check(sql: string) {
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
  const source = await connector.read(sql, { signal });
  const table = await stageRows(staging, { name: "rows", source }, { signal, progress: () => undefined });
  await connector.close();
  return await checkInteractions(staging, table, schema, { nowSeconds: 1_800_000_000, signal });
}

test("the columns that are read, in the order in which they are staged", () =>
  expect(interactionColumns(schema)).toEqual(["u", "i", "t", "l"]));

test("of each reason the count and the first five rows, and of each row the first reason", async () => {
  const { rejected, accepted } = await check(
    "SELECT CASE WHEN range % 2 = 0 THEN NULL ELSE range END, NULLIF(range, 3), 1, 1 FROM range(20)",
  );
  expect(rejected).toEqual({
    missing_user: { count: 10, firstRows: [1, 3, 5, 7, 9] },
    missing_item: { count: 1, firstRows: [4] },
  });
  expect(accepted).toBe(9);
});

test("indices follow the ids' texts; further item ids are among them; a thousand users keep their order", async () => {
  const staged = await check("SELECT range % 1000, 'i' || range % 3, 1_700_000_000 + range, 1 FROM range(3000)");
  await runStaged(staging, "CREATE TABLE more AS SELECT unnest(['i1', 'h', 'z']) AS text", signal);
  await numberIds(staging, staged, { moreItems: "more", signal });
  const items = await readIds(staging, "items", signal);
  expect(Array.from({ length: countOf(items) }, (_, i) => stringAt(items, i))).toEqual(["h", "i0", "i1", "i2", "z"]);
  const users = await readIds(staging, "users", signal);
  const texts = Array.from({ length: countOf(users) }, (_, i) => stringAt(users, i));
  expect(texts).toEqual(Array.from({ length: 1000 }, (_, i) => String(i)).sort());

  const { interactions } = await readInteractions(staging, staged, {
    tieOrder: "item_id",
    signal,
    progress: () => undefined,
  });
  expect(interactions.userStart.length).toBe(1001);
  expect(interactions.itemCount).toBe(5);
  for (let user = 0; user < 1000; user++) {
    const id = Number(texts[user]);
    const [from, to] = [interactions.userStart[user]!, interactions.userStart[user + 1]!];
    expect([...interactions.times.subarray(from, to)]).toEqual([0, 1000, 2000].map((n) => 1_700_000_000 + id + n));
    expect([...interactions.items.subarray(from, to)]).toEqual([0, 1000, 2000].map((n) => 1 + ((id + n) % 3)));
  }
});

test("two thousand rows of one user and second, in the order of the rows: duplicates anywhere collapse", async () => {
  const staged = await check("SELECT 1, range % 1000, 1_700_000_000, range >= 1000 FROM range(2000)");
  await numberIds(staging, staged, { moreItems: null, signal });
  const read = await readInteractions(staging, staged, { tieOrder: "row", signal, progress: () => undefined });
  expect(read.duplicates).toBe(1000);
  expect(read.interactions.items.length).toBe(1000);
  expect(read.interactions.positive.every((label) => label === 1)).toBe(true);
});
