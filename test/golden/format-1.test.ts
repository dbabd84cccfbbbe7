import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodeAttributes } from "../../shared/attributes.ts";
import { decodeCatalog } from "../../shared/catalog.ts";
import { compileFilter } from "../../shared/filter/compile-filter.ts";
import { parseFilter } from "../../shared/filter/parse-filter.ts";
import { userHash } from "../../shared/hash.ts";
import type { ItemId, ItemIndex } from "../../shared/ids.ts";
import { KeyRecord } from "../../shared/key-record.ts";
import { LivePointer } from "../../shared/live-pointer.ts";
import { FORMATS_READ, Manifest } from "../../shared/manifest.ts";
import { decodeSeen } from "../../shared/seen.ts";
import { decodeUserDirectory } from "../../shared/user-records.ts";
import { decodeUserPage } from "../fixtures/user-page.ts";
import {
  factsOf,
  format1Files,
  INTEGER_IDS,
  LARGE_IDS,
  SALT,
  SEEN,
  TEXT_IDS,
  USER_COUNT,
  USER_ITEM_COUNT,
} from "./format-1.ts";

const folder = new URL("format-1/", import.meta.url).pathname;
const frozen = (name: string) => new Uint8Array(readFileSync(folder + name));

test("today's writers produce the frozen bytes: other bytes need another format number", async () => {
  const files = await format1Files();
  expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort());
  for (const [name, bytes] of files)
    expect([name, Buffer.from(bytes).toString("base64")]).toEqual([name, Buffer.from(frozen(name)).toString("base64")]);
});

test.each([
  ["catalog-text.bin", TEXT_IDS],
  ["catalog-integers.bin", INTEGER_IDS],
  ["catalog-large-integers.bin", LARGE_IDS],
])("%s", (name, ids) => {
  const catalog = decodeCatalog(frozen(name));
  expect(ids.map((_, item) => catalog.idAt(item as ItemIndex))).toEqual(ids);
  expect(ids.map((id) => catalog.indexOf(id as ItemId))).toEqual([0, 1, 2, 3, 4]);
  expect(catalog.indexOf("nobody" as ItemId)).toBeUndefined();
});

test.each<[unknown, number[]]>([
  [{ stock: true }, [0, 3]],
  [{ stock: null }, [2]],
  [{ year: { $gte: 1995 } }, [1, 3]],
  [{ price: 9.99 }, [0, 2]],
  [{ price: { $lt: 1 } }, [1]],
  [{ weight: { $lt: 0.25 } }, [0, 1, 3]],
  [{ added: { $gt: "2020-01-01T00:00:00Z" } }, [0]],
  [{ added: { $lt: 0 } }, [3]],
  [{ color: { $ne: "red" } }, [1, 2]],
  [{ color: { $lt: "c" } }, [2]],
  [{ tags: { $all: ["new", "sale"] } }, [0]],
  [{ tags: { $in: ["a b", null] } }, [1, 3]],
  [{ item_id: { $in: [7, "0"] } }, [0, 3]],
])("attributes.bin: %j", (query, expected) => {
  const table = decodeAttributes(frozen("attributes.bin"));
  const catalog = decodeCatalog(frozen("catalog-integers.bin"));
  const isMatch = compileFilter(parseFilter(query), { table, catalog, itemIdColumn: "item_id" });
  expect([0, 1, 2, 3].filter((item) => isMatch(item as ItemIndex))).toEqual(expected);
});

test.each(Object.entries(SEEN))("%s", (name, { items, itemCount }) => {
  const hasSeen = decodeSeen(frozen(name), itemCount);
  for (const item of items) expect(hasSeen(item as ItemIndex)).toBe(true);
  const others = Array.from({ length: 1000 }, (_, i) => i % itemCount).filter((item) => !items.includes(item as never));
  expect(others.filter((item) => hasSeen(item as ItemIndex)).length).toBeLessThanOrEqual(
    name === "seen-bloom.bin" ? 5 : 0,
  );
});

test("user-directory.bin and user-pages-0.bin", async () => {
  const directory = decodeUserDirectory(frozen("user-directory.bin"));
  expect(directory).toMatchObject({ salt: SALT, userCount: USER_COUNT, itemCount: USER_ITEM_COUNT, fileCount: 1 });
  for (let user = 0; user < USER_COUNT; user++) {
    const hash = await userHash(directory.salt, `user ${user}`);
    const { offset, length } = directory.find(hash)!;
    const page = frozen("user-pages-0.bin").subarray(offset, offset + length);
    const record = decodeUserPage(page, hash, USER_ITEM_COUNT)!;
    const facts = factsOf(user);
    const history = facts.filter((fact) => fact.positive === 1).slice(-10);
    expect(record.items).toEqual(history.map((fact) => fact.item));
    expect(record.times).toEqual(history.map((fact) => fact.time));
    const seen = new Set(facts.map((fact) => fact.item));
    for (let item = 0; item < USER_ITEM_COUNT; item++) expect(record.hasSeen(item as ItemIndex)).toBe(seen.has(item));
  }
});

test("the JSON documents are read as they were written", () => {
  const read = (name: string) => JSON.parse(Buffer.from(frozen(name)).toString()) as unknown;
  const manifest = read("manifest.json");
  expect(Manifest.parse(manifest)).toEqual(manifest);
  expect(FORMATS_READ).toContain(Manifest.parse(manifest).format);
  expect(Manifest.parse(read("manifest-sessions.json"))).toEqual({
    ...Manifest.parse(manifest),
    sessions: { repeats: true },
  });
  expect(LivePointer.parse(read("live.json"))).toEqual(read("live.json"));
  expect(KeyRecord.parse(read("key-record.json"))).toEqual(read("key-record.json"));
});
