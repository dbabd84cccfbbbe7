import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkInteractions } from "../../../../trainer/read/dataset/check-interactions.ts";
import { numberIds } from "../../../../trainer/read/dataset/number-ids.ts";
import { readInteractions, type TieOrder } from "../../../../trainer/read/dataset/read-interactions.ts";
import { specOf } from "../../../fixtures/rows-spec.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";

let rows: StagedRows;
beforeEach(async () => {
  rows = await openStagedRows();
});
afterEach(() => rows.close());

const T = 1_700_000_000;

async function read(sql: string, tieOrder: TieOrder = "hash", session_id?: string) {
  const { schema: plain } = specOf({ interactions: "" });
  const schema = { ...plain, interaction: { ...plain.interaction, session_id } };
  const table = await rows.stage("rows", sql);
  const staged = await checkInteractions(rows.staging, table, schema, 1_800_000_000);
  await numberIds(rows.staging, staged, null);
  const reports: number[] = [];
  const result = await readInteractions(rows.staging, staged, {
    tieOrder,
    progress: (count) => reports.push(count),
  });
  return { ...result, reports };
}

test("each user's rows are in time order, whatever their order in the source", async () => {
  const { interactions, duplicates } = await read(
    `SELECT 1000 + range % 1000, range % 3, ${T} + range, range % 2 FROM range(3000) ORDER BY hash(range)`,
  );
  expect(duplicates).toBe(0);
  expect(interactions).toMatchObject({ userCount: 1000, itemCount: 3, ratings: null });
  for (let user = 0; user < 1000; user++) {
    const [from, to] = [interactions.userStart[user]!, interactions.userStart[user + 1]!];
    const rowNumbers = [user, user + 1000, user + 2000];
    expect([...interactions.times.subarray(from, to)]).toEqual(rowNumbers.map((n) => T + n));
    expect([...interactions.items.subarray(from, to)]).toEqual(rowNumbers.map((n) => n % 3));
    expect([...interactions.positive.subarray(from, to)]).toEqual(rowNumbers.map((n) => n % 2));
  }
});

test("duplicates of one user and second become one, whether they are neighbours or not", async () => {
  const sql = `SELECT 1, range % 1000, ${T}, range >= 1000 FROM range(2000)`;
  for (const tieOrder of ["hash", "row"] as const) {
    const { interactions, duplicates } = await read(sql, tieOrder);
    expect(duplicates).toBe(1000);
    expect(interactions.items.length).toBe(1000);
    expect(interactions.positive.every((label) => label === 1)).toBe(true);
    await rows.close();
    rows = await openStagedRows();
  }
});

describe("sessions", () => {
  const sessionsOf = async (rows: string) => {
    const sql = `SELECT u, i, ${T} + t, 1, s FROM (VALUES ${rows}) AS v(u, i, t, s)`;
    const { sessions, interactions } = await read(sql, "hash", "s");
    return { sessions: [...sessions!.of], count: sessions!.count, times: [...interactions.times].map((t) => t - T) };
  };

  test("are those of their user, in the order of time", async () =>
    expect(await sessionsOf("(2, 1, 5, 'x'), (1, 1, 3, 'y'), (1, 2, 1, 'x'), (1, 3, 4, 'x')")).toEqual({
      sessions: [0, 1, 0, 2],
      count: 3,
      times: [1, 3, 4, 5],
    }));
  test("a value that is no id names none, and the row is kept", async () =>
    expect(
      await sessionsOf(`(1, 1, 0, ''), (1, 2, 10, NULL), (1, 3, 20, 'x'), (1, 4, 30, '${"y".repeat(257)}')`),
    ).toMatchObject({ sessions: [0, 0, 1, 0], count: 2 }));
  test("of rows that repeat one another, the smallest name counts", async () => {
    const { sessions, count } = await sessionsOf("(1, 1, 0, 'y'), (1, 1, 0, NULL), (1, 1, 0, 'x'), (1, 2, 9, 'x')");
    expect([sessions, count]).toEqual([[0, 0], 1]);
  });
  test("have names of any type of id", async () => {
    for (const type of ["BIGINT", "DOUBLE", "DECIMAL(4, 1)", "UUID", "TIMESTAMP", "BLOB"]) {
      const value = (n: number) =>
        type === "UUID"
          ? `'0000000${n}-0000-0000-0000-000000000000'`
          : type === "TIMESTAMP"
            ? `'2024-01-0${n}'`
            : `'${n}'`;
      const rowsOf = [1, 2, 1].map((n, i) => `(1, ${i}, ${i}, CAST(${value(n)} AS ${type}))`);
      expect([type, (await sessionsOf(rowsOf.join(", "))).sessions]).toEqual([type, [0, 1, 0]]);
      await rows.close();
      rows = await openStagedRows();
    }
  });
  test("of a type that cannot be one end the run", () =>
    expect(sessionsOf("(1, 1, 0, [1])")).rejects.toMatchObject({
      code: "unsupported_column_type",
      message: expect.stringContaining("cannot be a session"),
    }));
  test("are unknown without their column, and where they are users", async () => {
    const sql = `SELECT 1 AS u, 1, ${T}, 1`;
    expect((await read(sql)).sessions).toBeNull();
    await rows.close();
    rows = await openStagedRows();
    expect((await read(sql, "hash", "u")).sessions).toBeNull();
  });
});

test("rows of one second are ordered differently for each user, and not by item or row", async () => {
  const sql = (order: string) => `SELECT range // 8, range % 8, ${T}, 1 FROM range(16000) ORDER BY ${order}`;
  const { interactions } = await read(sql("range"));
  const newest = new Uint32Array(8);
  for (let user = 0; user < 2000; user++) newest[interactions.items[interactions.userStart[user + 1]! - 1]!]!++;
  expect(Math.min(...newest)).toBeGreaterThan(200); // 250 ± 15
  expect(Math.max(...newest)).toBeLessThan(300);
  const after = new Uint32Array(8); // how often each item follows item 0
  for (const [at, item] of interactions.items.entries())
    if (item === 0 && at % 8 < 7) after[interactions.items[at + 1]!]!++;
  expect(Math.min(...after.subarray(1))).toBeGreaterThan(200);
  await rows.close();
  rows = await openStagedRows();
  expect((await read(sql("hash(range)"))).interactions).toEqual(interactions);
});

test("the same item at another second or of another user is no duplicate", async () => {
  const { interactions, duplicates } = await read(
    `SELECT * FROM (VALUES (1, 7, ${T}, 1), (1, 7, ${T + 1}, 0), (2, 7, ${T + 1}, 1), (2, 8, ${T + 1}, 1))`,
    "row",
  );
  expect([duplicates, interactions.items.length]).toEqual([0, 4]);
  expect([...interactions.userStart]).toEqual([0, 2, 4]);
});

test("progress counts the rows as they are collected", async () => {
  const { reports } = await read(`SELECT range % 9, range % 7, ${T} + range, 1 FROM range(300_000)`);
  expect(reports.length).toBeGreaterThan(1);
  expect(reports).toEqual([...reports].sort((a, b) => a - b));
});
