import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelSpec } from "../../../../../shared/model-spec.ts";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import { anyCharacter } from "../../../../fixtures/any-text.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";
import { itemIdsOf, readRows, rowsOf, specOf, userIdsOf } from "../../../../fixtures/rows-spec.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "id-texts-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Reads files of this folder with the real connector. Each file is a table. */
async function read(files: Readonly<Record<string, string>>, { query = "FROM rows", items = "" } = {}) {
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  const location = `{${Object.keys(files).join(",")}}`;
  const spec: ModelSpec = {
    ...specOf({ interactions: query, ...(items !== "" && { items }) }),
    connector_configs: [
      { type: "File", location: Object.keys(files).length === 1 ? Object.keys(files)[0]! : location },
    ],
  };
  const context = { customer: "test", settings: fileSettings([folder], folder) };
  return await readRows(spec, { context, connect, rejectedFractionMax: 1 });
}

const csv = (rows: readonly (readonly string[])[], header = "u,i,t,l") =>
  [header, ...rows.map((row) => row.join(","))].map((line) => `${line}\n`).join("");
const T = 1_700_000_000;

/** The ids of users and items that are read from these columns of a CSV. */
async function idsOf(users: readonly string[], items: readonly string[], query?: string, header?: string) {
  const rows = users.map((user, row) => [user, items[row]!, String(T + row), "1"]);
  const { dataset } = await read({ "rows.csv": csv(rows, header) }, query === undefined ? {} : { query });
  return { users: [...new Set(rowsOf(dataset).map((row) => row.split(" ")[0]))], items: itemIdsOf(dataset) };
}

test("ids that a number would change are read as they are written", async () => {
  expect(await idsOf(["1.1", "1.10", "2.5", "2.5"], ["501.1", "501.10", "502.5", "503.25"])).toEqual({
    users: ["1.1", "1.10", "2.5"],
    items: ["501.1", "501.10", "502.5", "503.25"],
  });
  expect(await idsOf(["0x0A", "7", "8"], ["1E3", "2000", "10-05-05"])).toEqual({
    users: ["0x0A", "7", "8"],
    items: ["10-05-05", "1E3", "2000"],
  });
  expect((await idsOf(["2024-01-03", "2024/01/04", "2024-1-5"], ["10:05", "8:05", "9:00:00"])).items).toEqual([
    "10:05",
    "8:05",
    "9:00:00",
  ]);
  expect((await idsOf(["TRUE", "true", "t"], ["a", "b", "c"])).users).toEqual(["TRUE", "t", "true"]);
});

test("whole numbers with a point throughout lose it, but not among others", async () => {
  expect(await idsOf(["12.0", "13.0"], ["1.00", "20.0"])).toEqual({ users: ["12", "13"], items: ["1", "20"] });
  expect((await idsOf(["12.0", "13"], ["1", "2"])).users).toEqual(["12.0", "13"]);
  expect(
    (
      await read({
        "rows.csv": csv([
          ["a", "1", `${T}`, "1"],
          ["a", "2", `${T}`, "1"],
        ]),
      })
    ).dataset.itemIdType,
  ).toBe("integer");
});

test("ids far down in a file count too", async () => {
  const rows = Array.from({ length: 30_000 }, (_, row) => [`${row % 100}`, `${row % 50}`, `${T + row}`, "1"]);
  const late = csv([...rows, ["7", "0.50", `${T}`, "1"], ["8", " 3", `${T}`, "1"]]);
  const { dataset } = await read({ "rows.csv": late });
  expect(itemIdsOf(dataset)).toEqual(expect.arrayContaining(["0.50", " 3", "3"]));
});

describe("a query's ids are read as they are written", () => {
  const users = ["1.1", "1.10", "2"];
  const items = ["5.0", "5", "1e1"];
  test.each([
    ["by another name", "SELECT a AS u, b AS i, t, l FROM rows"],
    ["by a cast", "SELECT CAST(a AS VARCHAR) AS u, b::TEXT AS i, t, l FROM rows"],
    ["through a subquery", "WITH w AS (SELECT concat(a, '') AS x, * FROM rows) SELECT x AS u, b AS i, t, l FROM w"],
    ["by position", "SELECT * FROM (SELECT a, b, t, l FROM rows) AS p(u, i, t, l)"],
    ["renamed", "SELECT * RENAME (a AS u, b AS i) FROM rows"],
    ["by a function of texts", "SELECT trim(a) AS u, trim(b) AS i, t, l FROM rows"],
    ["from a union", "SELECT a AS u, b AS i, t, l FROM rows UNION ALL SELECT a, b, t, l FROM rows"],
  ])("%s", async (_, query) => {
    expect(await idsOf(users, items, query, "a,b,t,l")).toEqual({
      users: ["1.1", "1.10", "2"],
      items: ["1e1", "5", "5.0"],
    });
  });

  test("while other columns stay numbers and times", async () => {
    const rows = [
      ["1.1", "1", "2024-01-01 10:00:00", "1.10"],
      ["1.10", "2", "2024-01-02 10:00:00", "2.5"],
    ];
    const query = "SELECT u, i, t + INTERVAL 1 DAY AS t, (l * 2 > 3)::INT AS l FROM rows WHERE l > 1";
    const { dataset } = await read({ "rows.csv": csv(rows) }, { query });
    const seconds = (day: number) => Date.UTC(2024, 0, day, 10) / 1000;
    expect(rowsOf(dataset)).toEqual([`1.1 1 ${seconds(2)} 0`, `1.10 2 ${seconds(3)} 1`]);
  });

  test("but a query that computes with an id still works", async () => {
    expect(
      (await idsOf(["1.1", "1.10", "2"], ["1", "2", "3"], "SELECT a * 10 AS u, b AS i, t, l FROM rows", "a,b,t,l"))
        .users,
    ).toEqual(["11", "20"]);
  });
});

test("texts of JSON are no dates where they are ids", async () => {
  const rows = ["2024-01-03", "2024-01-04"].map((i, row) => JSON.stringify({ u: "a", i, t: T + row, l: 1 }));
  const { dataset } = await read({ "rows.jsonl": rows.join("\n") });
  expect(itemIdsOf(dataset)).toEqual(["2024-01-03", "2024-01-04"]);
  const times = ["2024-01-03T10:00:00Z", "2024-01-04T11:00:00Z"];
  const stamps = times.map((i) => JSON.stringify({ u: "a", i, t: i, l: 1 }));
  expect(itemIdsOf((await read({ "rows.jsonl": stamps.join("\n") })).dataset)).toEqual(times);
});

test("ids of an items file meet those of the interactions, whatever form each has", async () => {
  const rows = csv([
    ["a", "1.50", `${T}`, "1"],
    ["b", "2", `${T + 1}`, "1"],
  ]);
  const { dataset, summary } = await read(
    { "rows.csv": rows, "items.csv": "i,price\n1.50,3\n2,4\n" },
    { items: "FROM items" },
  );
  expect(itemIdsOf(dataset)).toEqual(["1.50", "2"]);
  expect(summary.item_attributes).toMatchObject([{ name: "price", present: 2 }]);
});

/** Texts that a reader may take for something else. */
const trickyId = fc.oneof(
  fc
    .tuple(fc.integer({ min: -99, max: 99 }), fc.stringMatching(/^[0-9]{0,3}$/))
    .map(([whole, rest]) => `${whole}.${rest}`),
  fc.integer({ min: 0, max: 300 }).map((value) => `0x${value.toString(16).toUpperCase()}`),
  fc
    .tuple(fc.integer({ min: 1, max: 99 }), fc.integer({ min: -3, max: 20 }))
    .map(([digits, power]) => `${digits}e${power}`),
  fc.date({ min: new Date(0), max: new Date(2e12), noInvalidDate: true }).chain((date) => {
    const iso = date.toISOString();
    const day = iso.slice(0, 10);
    return fc.constantFrom(iso, day, day.slice(2), day.split("-").reverse().join("/"), iso.slice(11, 19));
  }),
  fc.stringMatching(/^0{0,2}[0-9]{1,20}$/),
  fc.tuple(fc.constantFrom(" ", "", "\t"), fc.nat(99), fc.constantFrom(" ", "")).map((parts) => parts.join("")),
  fc.constantFrom(
    "true",
    "TRUE",
    "f",
    "inf",
    "infinity",
    "-0",
    "+1",
    "1_000",
    "01",
    "1.",
    ".5",
    "'",
    '"',
    '""',
    "a,b",
    "#",
    "\\",
  ),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 5 }).filter((text) => !/[\0\r\n]/.test(text)),
  fc.nat(99).map(String),
);
/** Mostly of one kind, since a column of many kinds is text anyway. */
const column = fc.oneof(
  fc.array(trickyId, { minLength: 2, maxLength: 8 }),
  fc
    .array(fc.nat(99).map(String), { minLength: 2, maxLength: 8 })
    .chain((plain) => trickyId.map((one) => [...plain, one])),
  fc.array(
    fc.nat(99).map((value) => `${value}.0`),
    { minLength: 2, maxLength: 8 },
  ),
);

/** A model needs two items. */
const someIds = column.filter((ids) => new Set(ids.map((id) => id.replace(/\.0+$/, ""))).size > 1);

describe("for any ids, those of the dataset are those of the file", () => {
  const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const expected = (ids: readonly string[]) => {
    const lostPoint = ids.every((id) => /^-?[1-9]\d*\.0+$|^0\.0+$/.test(id))
      ? ids.map((id) => id.replace(/\.0+$/, ""))
      : ids;
    return [...new Set(lostPoint)].sort(byBytes);
  };
  const quoted = (text: string, always: boolean) =>
    always || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

  /** The texts of two columns, with as many rows as the longer one. */
  const rowsOfTwo = (users: readonly string[], items: readonly string[]) =>
    Array.from({ length: Math.max(users.length, items.length) }, (_, row) => [
      users[row % users.length]!,
      items[row % items.length]!,
    ]);

  test("as CSV", () =>
    fc.assert(
      fc.asyncProperty(someIds, someIds, fc.boolean(), async (users, items, always) => {
        const rows = rowsOfTwo(users, items).map(([user, item], row) => [
          quoted(user!, always),
          quoted(item!, always),
          `${T + row}`,
          "1",
        ]);
        const { dataset } = await read({ "rows.csv": csv(rows) });
        expect([userIdsOf(dataset), itemIdsOf(dataset)]).toEqual([expected(users), expected(items)]);
      }),
      { numRuns: 30 },
    ));

  test("as JSON", () =>
    fc.assert(
      fc.asyncProperty(someIds, someIds, async (users, items) => {
        const rows = rowsOfTwo(users, items).map(([u, i], row) => JSON.stringify({ u, i, t: T + row, l: 1 }));
        const { dataset } = await read({ "rows.jsonl": `${rows.join("\n")}\n` });
        const exact = (ids: readonly string[]) => [...new Set(ids)].sort(byBytes);
        expect([userIdsOf(dataset), itemIdsOf(dataset)]).toEqual([exact(users), exact(items)]);
      }),
      { numRuns: 20 },
    ));
});
