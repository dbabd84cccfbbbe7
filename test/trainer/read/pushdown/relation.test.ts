import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Label } from "../../../../shared/label.ts";
import { jsonRows } from "../../../../trainer/read/connectors/connector.ts";
import { ACCEPTED, DISTINCT, type Relation } from "../../../../trainer/read/pushdown/relation.ts";
import { openRelation } from "../../../../trainer/read/pushdown/source-totals.ts";
import { rejectedOf } from "../../../../trainer/read/rules/reject-reasons.ts";
import {
  type Cell,
  heldTable,
  type IdFlags,
  type Kind,
  openStores,
  type Rows,
  type Store,
  valuesQuery,
} from "../../../fixtures/pushdown-stores.ts";
import { NOW_MS, readRows, rowsOf, specOf } from "../../../fixtures/rows-spec.ts";

let stores: Store[] = [];
beforeAll(async () => {
  stores = await openStores();
  console.log(`These tests ran on ${stores.map(({ dialect }) => dialect.name).join(", ")}.`);
}, 60_000);
afterAll(async () => {
  for (const store of stores) await store.stop();
});

const never = new AbortController().signal;
const nowSeconds = NOW_MS / 1000;
const T = 1_700_000_000;
const BINARY: Label = { type: "Binary", name: "l" };
const RATING: Label = { type: "Rating", name: "l", positive_from: 3.5 };
const WEIGHT: Label = { type: "Weight", name: "l" };
const EVENTS: Label = { type: "Events", name: "l", positive: ["buy", "don't \\ know", "cart"] };
const WEIGHTED: Label = { type: "Events", name: "l", positive: ["1", "4"], weights: { "4": 2.5 } };
const SALT = "00ff10";

const RELATIONS: Readonly<Record<string, Relation>> = {
  reasons: { kind: "reasons" },
  times: { kind: "times", aggregates: "COUNT(c2) AS times" },
  totals: { kind: "totals", of: DISTINCT, perUser: 2 },
  items: { kind: "items", of: DISTINCT },
  distinct: { kind: "rows", of: DISTINCT },
  newest: { kind: "rows", of: { kind: "newest", of: DISTINCT, perUser: 2 } },
  sampled: { kind: "rows", of: { kind: "sampled", of: DISTINCT, below: "80000000" } },
  records: { kind: "records", of: ACCEPTED, saltHex: SALT, erasedSalt: "ab" },
};

type Answers = Readonly<Record<string, string[]>>;

/** The rows of every relation as sorted texts, since relations have no order. */
async function answersOf(store: Store, rows: Rows, label: Label, flags: IdFlags = {}): Promise<Answers> {
  const table = await heldTable(store, rows, { label, nowSeconds, ...flags });
  const answers: Record<string, string[]> = {};
  for (const [name, relation] of Object.entries(RELATIONS)) {
    if (name === "units" && table.rules.time.number === null) continue;
    const source = { connector: store.connector, table, signal: never, origins: [] };
    const read = await jsonRows(await openRelation(source, relation));
    const text = (value: unknown) => (value === null ? null : String(value));
    answers[name] = read.map((row) => JSON.stringify(Object.values(row).map(text))).sort();
  }
  return answers;
}

/** The expected rows, from the trainer's own reading. */
async function expectedOf(rows: Rows, label: Label, flags: IdFlags = {}) {
  const { dataset, summary } = await readRows(specOf({ interactions: valuesQuery(rows), label, ...flags }), {
    rejectedFractionMax: 1,
  });
  const facts = rowsOf(dataset).map((row, i) => {
    const [user, item, second, positive] = row.split(" ") as [string, string, string, string];
    return { user, item, second, positive, value: dataset.ratings ? String(dataset.ratings[i]) : positive };
  });
  return { facts, rejected: summary.rejected_rows };
}

const textRow = (values: readonly (string | number)[]) => JSON.stringify(values.map(String));

function check(answers: Answers, { facts, rejected }: Awaited<ReturnType<typeof expectedOf>>) {
  const rowText = ({ user, item, second, value }: (typeof facts)[number]) => textRow([user, item, second, value]);
  const reasons = answers.reasons!.map((row) => JSON.parse(row) as [string | null, string]);
  const found = reasons.filter(([reason]) => reason !== null);
  const counts = found.map(([reason, n]) => ({ reason: reason!, count: Number(n), firstRows: [] }));
  expect(mapValues(rejectedOf(counts), ({ count }) => count)).toEqual(rejected);
  expect(answers.distinct).toEqual(facts.map(rowText).sort());
  // The trainer orders a user's rows by time, then by hash, so the newest are the last ones.
  const users = Map.groupBy(facts, ({ user }) => user);
  const newest = [...users.values()].flatMap((own) => own.slice(-2));
  expect(answers.newest).toEqual(newest.map(rowText).sort());
  const half = facts.filter(({ user }) => createHash("md5").update(user).digest("hex") < "80000000");
  expect(answers.sampled).toEqual(half.map(rowText).sort());
  const seconds = facts.map(({ second }) => Number(second));
  const positives = facts.filter(({ positive }) => positive === "1");
  expect(answers.totals).toEqual([
    textRow([users.size, facts.length, positives.length, Math.min(...seconds), Math.max(...seconds), newest.length]),
  ]);
  expect(answers.items).toEqual([...new Set(facts.map(({ item }) => textRow([item])))].sort());
  checkRecords(answers.records!, facts);
}

/** Records have every positive row, and of each other pair of user and item one row. */
function checkRecords(answers: readonly string[], facts: readonly Fact[]) {
  const isPositive = (row: string) => (JSON.parse(row) as string[])[3] === "1";
  const [found, others] = [answers.filter(isPositive), answers.filter((row) => !isPositive(row))];
  expect(found).toEqual(
    facts
      .filter(({ positive }) => positive === "1")
      .map(recordRow)
      .sort(),
  );
  const pairOf = (row: string) => {
    const [hash, item, , , tie, erased] = JSON.parse(row) as string[];
    return textRow([hash!, item!, tie!, erased!]);
  };
  const pairs = new Set(answers.map(pairOf));
  expect([...pairs].sort()).toEqual([...new Set(facts.map(recordRow).map(pairOf))].sort());
  expect(new Set(others.map(pairOf)).size).toBe(others.length);
}

const mapValues = <From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

type Fact = Awaited<ReturnType<typeof expectedOf>>["facts"][number];

function recordRow({ user, item, second, positive }: Fact): string {
  const sha = (salt: Buffer, digits: number) =>
    createHash("sha256").update(salt).update(user).digest("hex").slice(0, digits);
  const hashes = [lotOf(user, item), sha(Buffer.from("ab"), 16)];
  return textRow([sha(Buffer.from(SALT, "hex"), 24), item, second, positive, ...hashes]);
}

const lotOf = (user: string, item: string) =>
  createHash("md5")
    .update(user + item)
    .digest("hex")
    .slice(0, 8);

const orNull = <Value extends Cell>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: null, freq: 12 });
const IDS = [
  "a",
  "B",
  "b",
  "ä",
  "é",
  "日本",
  "😀",
  "\uffee",
  "10",
  "9",
  "a'b",
  "A",
  "x".repeat(257),
  "",
  "NULL",
  "\\N",
  "#N/A",
  "\u00a0a",
  "a\u3000",
  "\u00a0NULL",
];
const texts = orNull(fc.constantFrom(...IDS));
const integers = orNull(fc.constantFrom(1, 2, 9, 10, -3, "9007199254740993"));
const times = orNull(fc.oneof(fc.integer({ min: T, max: T + 3 }), fc.constantFrom(-1, 2 ** 33, nowSeconds + 90_000)));
const stamps = orNull(
  fc.constantFrom(
    "2024-01-01 00:00:00+00",
    "2024-01-01 00:00:00.9+00",
    "2023-12-31 23:30:00-02",
    "1969-12-31 23:59:59.5+00",
    "2031-01-01 00:00:00+00",
  ),
);
const idFlags = fc.record({ keep_null_words: fc.boolean(), trim_ids: fc.boolean() });
const binary = orNull(fc.constantFrom(0, 1, 2));
const words = orNull(fc.constantFrom("yes", " TRUE ", "\u00a0no\u3000", "\tyes", "1.0", "1.00", "", " ", "maybe"));
const stars = orNull(fc.constantFrom(1, 3.5, 3.25, 5));
const types = orNull(fc.constantFrom("buy", " cart ", "don't \\ know", "view", "Buy", "", "\u00a0buy"));
const typeNumbers = orNull(fc.constantFrom(1, 2, 3, 4));
const starTexts = orNull(fc.constantFrom("3.5", " 4 ", "-1", "4e0", "+5.", ".5", "four", "", "0x10"));

const CASES: readonly {
  name: string;
  kinds: Rows["kinds"];
  label: Label;
  row: fc.Arbitrary<Cell[]>;
  good: Cell[][];
}[] = [
  {
    name: "text ids, epoch seconds, 0 and 1",
    kinds: { u: "text", i: "text", t: "integer", l: "integer" },
    label: BINARY,
    row: fc.tuple(texts, texts, times, binary),
    good: [
      // Three rows of one second, two of which are kept as the newest.
      ...["B", "ä", "b"].map((item) => ["tied", item, T, 1]),
      ["a", "b", T, 1],
      ["ä", "B", T, 1],
    ],
  },
  {
    name: "integer ids, timestamps, words",
    kinds: { u: "integer", i: "integer", t: "timestamp", l: "text" },
    label: BINARY,
    row: fc.tuple(integers, integers, stamps, words),
    good: [
      ...[9, 10, 2].map((item) => [7, item, "2024-01-01 00:00:00+00", "y"]),
      [1, 10, "2024-01-01 00:00:00+00", "y"],
      [2, 9, "2024-01-01 00:00:00+00", "t"],
    ],
  },
  {
    name: "ids of both kinds, seconds with fractions, ratings",
    kinds: { u: "integer", i: "text", t: "double", l: "double" },
    label: RATING,
    row: fc.tuple(integers, texts, orNull(fc.constantFrom(T + 0.5, T + 0.9, T, -0.5, 1e19)), stars),
    good: [
      [1, "b", T, 5],
      [2, "B", T, 5],
    ],
  },
  {
    name: "types of events",
    kinds: { u: "text", i: "text", t: "integer", l: "text" },
    label: EVENTS,
    row: fc.tuple(texts, texts, times, types),
    good: [
      ["a", "b", T, "buy"],
      ["a", "b", T, "cart"],
      ["ä", "B", T, "view"],
    ],
  },
  {
    name: "types of events that are numbers, with weights",
    kinds: { u: "text", i: "text", t: "integer", l: "integer" },
    label: WEIGHTED,
    row: fc.tuple(texts, texts, times, typeNumbers),
    good: [
      ["a", "b", T, 4],
      ["ä", "B", T, 1],
    ],
  },
  {
    name: "booleans, and weights that are texts",
    kinds: { u: "boolean", i: "text", t: "integer", l: "text" },
    label: WEIGHT,
    row: fc.tuple(orNull(fc.boolean()), texts, times, starTexts),
    good: [
      [true, "b", T, "5"],
      [false, "B", T, "5"],
    ],
  },
];

describe.each(CASES)("$name", ({ kinds, label, row, good }) => {
  test("every store gives what the trainer's own reading gives", { timeout: 120_000 }, () =>
    fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 40 }), idFlags, async (random, flags) => {
        // Each row twice, so that there are always duplicates.
        const rows = { kinds, rows: [...good, ...random, ...random.slice(0, 3)] };
        const expected = await expectedOf(rows, label, flags);
        for (const store of stores) check(await answersOf(store, rows, label, flags), expected);
      }),
      { numRuns: 4 },
    ),
  );
});

test("a store keeps each row's session, and the one with the smallest name of rows that repeat one another", async () => {
  const rows = [
    ["a", 1, T, 1, "x"],
    ["a", 2, T + 5, 1, "y"],
    ["a", 2, T + 5, 0, "Z"],
    ["a", 3, T + 9, 1, "x"],
    ["a", 4, T + 10, 1, ""],
    ["a", 5, T + 11, 1, null],
    ["b", 1, T, 1, "x"],
  ];
  const read = async (kind: Kind, cells: readonly (readonly Cell[])[]) => {
    const kinds = { u: "text", i: "integer", t: "integer", l: "integer", s: kind } as const;
    for (const store of stores) {
      const table = await heldTable(store, { kinds, rows: cells }, { label: BINARY, nowSeconds });
      for (const entries of [DISTINCT, { kind: "newest", of: DISTINCT, perUser: 9 } as const]) {
        const source = { connector: store.connector, table, signal: never, origins: [] };
        const found = await jsonRows(await openRelation(source, { kind: "rows", of: entries }));
        const texts = found.map(({ u, i, l, s }) => `${u} ${i} ${l} ${s}`).sort();
        const [least, other] = kind === "text" ? ["Z", "x"] : ["2", "1"];
        expect(texts).toEqual([
          `a 1 1 ${other}`,
          `a 2 1 ${least}`,
          `a 3 1 ${other}`,
          "a 4 1 null",
          "a 5 1 null",
          `b 1 1 ${other}`,
        ]);
      }
    }
  };
  await read("text", rows);
  const numbers: Readonly<Record<string, number | null>> = { x: 1, y: 3, Z: 2, "": null };
  await read(
    "integer",
    rows.map((row) => row.with(4, numbers[String(row[4] ?? "")]!)),
  );
});
