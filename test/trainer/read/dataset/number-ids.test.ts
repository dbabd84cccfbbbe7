import { afterEach, beforeEach, expect, test } from "vitest";
import { countOf, type PackedStrings, stringAt } from "../../../../shared/packed-strings.ts";
import { checkInteractions } from "../../../../trainer/read/dataset/check-interactions.ts";
import { numberIds, readIds } from "../../../../trainer/read/dataset/number-ids.ts";
import { readStaged, runStaged } from "../../../../trainer/read/dataset/staging.ts";
import { specOf } from "../../../fixtures/rows-spec.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";

let rows: StagedRows;
beforeEach(async () => {
  rows = await openStagedRows();
});
afterEach(() => rows.close());

async function number(sql: string, moreItems: string | null = null) {
  const table = await rows.stage("rows", sql);
  const { schema } = specOf({ interactions: "" });
  const staged = await checkInteractions(rows.staging, table, schema, 1_800_000_000);
  await numberIds(rows.staging, staged, moreItems);
}

const textsOf = (ids: PackedStrings) => Array.from({ length: countOf(ids) }, (_, i) => stringAt(ids, i));

test("indices follow the byte order of the ids", async () => {
  await number(
    "SELECT (range * 7919) % 50_000, ['ü', 'z', '🎈', 'Z', '10', '9'][1 + range % 6], 1, 1 FROM range(50_000)",
  );
  const users = textsOf(await readIds(rows.staging, "users"));
  expect(users).toEqual(Array.from({ length: 50_000 }, (_, i) => String(i)).sort());
  expect(textsOf(await readIds(rows.staging, "items"))).toEqual(["10", "9", "Z", "z", "ü", "🎈"]);
});

test("item keys map to the index of their text", async () => {
  await number("SELECT range, range % 12, 1, 1 FROM range(100)");
  const keys = await readStaged(
    rows.staging,
    "SELECT key, item, item_keys.text AS text, items.text AS item_text FROM item_keys JOIN items ON items.rowid = item",
  );
  expect(keys.length).toBe(12);
  for (const { key, text } of keys) expect(text).toBe(String(key));
});

test("further items are in the catalog once; rejected rows give no ids", async () => {
  await runStaged(rows.staging, "CREATE TABLE more AS SELECT unnest(['b', 'cold', 'b']) AS text");
  await number("SELECT * FROM (VALUES ('u', 'a', 1, 1), ('v', 'b', 2, 1), ('refused', 'x', NULL, 1))", "more");
  expect(textsOf(await readIds(rows.staging, "items"))).toEqual(["a", "b", "cold"]);
  expect(textsOf(await readIds(rows.staging, "users"))).toEqual(["u", "v"]);
});

test("ids that differ by a byte order mark stay different", async () => {
  await number("SELECT * FROM (VALUES (chr(65279) || 'u', 'a', 1, 1), ('u', chr(65279) || 'a', 2, 1))");
  expect(textsOf(await readIds(rows.staging, "users"))).toEqual(["u", "\ufeffu"]);
  expect(textsOf(await readIds(rows.staging, "items"))).toEqual(["a", "\ufeffa"]);
});
