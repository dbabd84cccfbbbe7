import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { connect } from "../../../../trainer/read/connectors/connect.ts";
import {
  DAY,
  type GrowingRow,
  type GrowingShop,
  growingShop,
  hourly,
  NOW_SECONDS,
  withoutTelling,
} from "../../../fixtures/growing-shop.ts";

let shop: GrowingShop | undefined;
afterEach(async () => {
  await shop?.close();
  shop = undefined;
});
const opened = async (rows: readonly GrowingRow[], timeType?: string) => {
  shop = await growingShop(timeType);
  await shop.hold(rows);
  return shop;
};
const laterBy = (hours: number, rows: readonly GrowingRow[]) =>
  rows.map((row) => ({ ...row, at: row.at! + hours * 3600 }));

/** Runs twice, on one table and then on another, and demands of the second what a full read gives. */
async function runTwice(first: readonly GrowingRow[], second: readonly GrowingRow[], timeType?: string) {
  const world = await opened(first, timeType);
  const before = await world.run();
  await world.hold(second);
  const after = await world.run();
  expect(withoutTelling(after)).toEqual(withoutTelling(await world.readAll()));
  return { before, after };
}

describe("a second run", () => {
  test("fetches what came since, and a day before that", async () => {
    const more = laterBy(0, hourly(103)).slice(100);
    const { before, after } = await runTwice(laterBy(-3, hourly(100)), [...laterBy(-3, hourly(100)), ...more]);
    expect(before.fetched).toBe(100);
    expect(before.summary.sources).toEqual(["interactions: 100 rows read in full: nothing is kept of an earlier run"]);
    expect(after.fetched).toBe(28); // 25 of the day up to the newest of the first run, and three new ones
    expect(after.summary.sources).toEqual([
      "interactions: 28 rows read since 2024-12-30T21:00:00Z, 75 kept from before",
    ]);
    expect(after.summary.interactions).toBe(103);
    expect(after.summary.warnings.join()).not.toContain("incremental");
  });

  test.each(["TIMESTAMP WITH TIME ZONE", "DATE", "BIGINT", "milliseconds"])("times stored as %s", async (timeType) => {
    const { after } = await runTwice(hourly(100), hourly(100), timeType);
    expect(after.fetched).toBeLessThan(60);
    expect(after.summary.sources?.join()).toContain("kept from before");
  });

  test("rows that came late, within the overlap, are there; changed labels within it too", async () => {
    const late = { u: "late", i: "i0", at: NOW_SECONDS - 20 * 3600, l: 1 as const };
    const flipped = hourly(100).map((row) => (row.at! > NOW_SECONDS - DAY ? { ...row, l: 1 as const } : row));
    const { after } = await runTwice(hourly(100), [late, ...flipped]);
    expect(after.fetched).toBe(26);
  });

  test("rows without a time, without a user and of the future neither break the count nor get lost", async () => {
    const odd: GrowingRow[] = [
      { u: "u0", i: "i0", at: null, l: 1 },
      { u: null, i: "i0", at: NOW_SECONDS - 90 * 3600, l: 1 },
      { u: "u0", i: "i1", at: NOW_SECONDS + 900 * DAY, l: 1 },
    ];
    const { after } = await runTwice([...hourly(100), ...odd], [...hourly(100), ...odd, odd[0]!, odd[2]!]);
    expect(after.fetched).toBe(25 + 4);
    expect(after.summary.rejected_rows).toEqual({ missing_time: 2, future_time: 2, missing_user: 1 });
  });

  const full = async (second: readonly GrowingRow[]) => {
    const { after } = await runTwice(hourly(100), second);
    expect(after.fetched).toBe(second.length);
    return after.summary;
  };
  test("a row deleted below the window", async () => {
    const { sources, warnings } = await full(hourly(100).slice(1));
    const why = "the source has 74 rows, not 75 as in the last run, before 2024-12-31T00:00:00Z";
    expect(sources?.join()).toContain(why);
    expect(warnings[0]).toContain(why);
  });
  test("a row that came later than the overlap", async () => {
    const { sources } = await full([{ u: "late", i: "i0", at: NOW_SECONDS - 3 * DAY, l: 1 }, ...hourly(100)]);
    expect(sources?.join()).toContain("76 rows, not 75");
  });
  test("one row deleted and another come late: the count is the same, the times are not", async () => {
    const { sources } = await full([{ u: "x", i: "i0", at: NOW_SECONDS - 3 * DAY + 1, l: 1 }, ...hourly(100).slice(1)]);
    expect(sources?.join()).toContain("other rows before");
  });
  test("a window that moves with the time, as in a query of the last month", async () => {
    const { after } = await runTwice(hourly(110).slice(0, 100), hourly(110).slice(10));
    expect(after.summary.sources?.join()).toContain("65 rows, not 75");
  });
});

test("what an old row says anew is found by the full read, which comes once in seven days", async () => {
  const world = await opened(hourly(100));
  await world.run();
  await world.hold(hourly(100).map((row, n) => (n === 0 ? { ...row, l: 1 as const } : row)));
  const on = async (day: number) => (await world.run({ nowMs: (NOW_SECONDS + day * DAY) * 1000 })).summary;
  const positivesBefore = (await on(6)).positives;
  const { positives, sources, warnings } = await on(7);
  expect(positives).toBe(positivesBefore + 1);
  expect(sources?.join()).toContain("once in 7 days everything is read, which was last done on 2025-01-01T00:00:00Z");
  expect(warnings.join()).not.toContain("incremental");
  expect((await on(8)).sources?.join()).toContain("kept from before");
});

test("the overlap and the time between full reads can be set", async () => {
  const world = await opened(hourly(100));
  const kept = { directory: world.kept, overlapSeconds: 2 * 3600, fullReadSeconds: DAY };
  await world.run({ kept });
  expect((await world.run({ kept })).fetched).toBe(3);
  const later = await world.run({ kept, nowMs: (NOW_SECONDS + DAY) * 1000 });
  expect(later.summary.sources?.join()).toContain("once in 1 days");
  expect(later.fetched).toBe(100);
  const always = await world.run({ kept: { ...kept, fullReadSeconds: 0 } });
  expect([always.fetched, always.summary.sources, await readdir(world.kept)]).toEqual([100, undefined, []]);
});

describe("all is read, and the reason is told, when", () => {
  test("the query, the columns or the connector are others", async () => {
    const world = await opened(hourly(100));
    await world.run();
    const change = structuredClone(world.spec);
    change.schema.interaction.source.query += " WHERE l = 1";
    const other = await world.run({ spec: change });
    expect(other.summary.sources?.join()).toContain("its connector or its columns are others");
    expect(withoutTelling(other)).toEqual(withoutTelling(await world.readAll({ spec: change })));
  });

  test("a column is of another type", async () => {
    const world = await opened(hourly(100));
    await world.run();
    const other = await growingShop("DATE");
    await other.hold(hourly(100));
    await copyFile(join(other.folder, "events.parquet"), join(world.folder, "events.parquet"));
    await other.close();
    expect((await world.run()).summary.sources?.join()).toContain("the types of the columns are others");
  });

  test("times are text: told every time, and nothing is kept", async () => {
    const world = await opened(hourly(100), "VARCHAR");
    for (const _ of [1, 2]) {
      const { fetched, summary } = await world.run();
      expect(fetched).toBe(100);
      expect(summary.warnings[0]).toContain('its column "at" has the type VARCHAR, whose order is not that of time');
    }
    expect(await readdir(world.kept).catch(() => [])).toEqual([]);
  });

  test("times have become text: what was kept goes", async () => {
    const world = await opened(hourly(100));
    await world.run();
    const other = await growingShop("VARCHAR");
    await other.hold(hourly(100));
    await copyFile(join(other.folder, "events.parquet"), join(world.folder, "events.parquet"));
    await other.close();
    expect((await world.run()).summary.warnings[0]).toContain("whose order is not that of time");
    expect(await readdir(world.kept)).toEqual([]);
  });

  test("the files change between counting and reading", async () => {
    const world = await opened(hourly(100));
    await world.run();
    const moved = laterBy(1, hourly(100));
    const read = await world.run({
      connect: async (config, context) => {
        const connector = await connect(config, context);
        return {
          ...connector,
          async readSince(query, options) {
            const parted = await connector.readSince!(query, options);
            if ("unsuitable" in parted) return parted;
            return {
              ...parted,
              async rows() {
                const rows = await parted.rows();
                await world.hold(moved);
                return rows;
              },
            };
          },
        };
      },
    });
    expect(read.summary.sources?.join()).toContain("files changed while they were read");
    expect(withoutTelling(read)).toEqual(withoutTelling(await world.readAll()));
  });
});

test("a source that is no longer declared incremental loses its copy", async () => {
  const world = await opened(hourly(100));
  await world.run();
  expect(await readdir(world.kept)).toEqual(["interactions"]);
  const spec = structuredClone(world.spec);
  spec.schema.interaction.incremental = false;
  const { fetched, summary } = await world.run({ spec });
  expect([fetched, summary.sources]).toEqual([100, undefined]);
  expect(await readdir(world.kept)).toEqual([]);
});

test("a run that is stopped ends with its reason", async () => {
  const world = await opened(hourly(100));
  await world.run();
  const reason = new Error("stop now");
  await expect(world.run({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect((await world.run()).fetched).toBe(25);
});

test("whatever is appended, comes late or is deleted, a run gives what a full read gives", async () => {
  const row = fc.record({
    u: fc.option(fc.constantFrom("a", "b", "c"), { freq: 8 }),
    i: fc.constantFrom("x", "y", "z"),
    at: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: NOW_SECONDS - DAY / 4, max: NOW_SECONDS + DAY / 2 }) },
      { weight: 1, arbitrary: fc.integer({ min: NOW_SECONDS - 3 * DAY, max: NOW_SECONDS - DAY / 2 }) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
    l: fc.constantFrom(0 as const, 1 as const),
  });
  const change = fc.record({
    added: fc.array(row, { maxLength: 4 }),
    deleted: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.nat()),
  });
  const base: GrowingRow[] = [
    { u: "a", i: "x", at: NOW_SECONDS - 2 * DAY, l: 1 },
    { u: "b", i: "y", at: NOW_SECONDS - 3600, l: 1 },
  ];
  let parts = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 4 }), async (changes) => {
      const world = await growingShop();
      try {
        let rows: GrowingRow[] = [];
        for (const { added, deleted } of changes) {
          rows = [...rows.filter((_, n) => deleted === null || n !== deleted % Math.max(1, rows.length)), ...added];
          await world.hold([...base, ...rows]);
          const run = await world.run({ kept: { directory: world.kept, overlapSeconds: DAY / 2 } });
          if (run.summary.sources?.join().includes("kept from before")) parts++;
          expect(withoutTelling(run)).toEqual(withoutTelling(await world.readAll()));
        }
      } finally {
        await world.close();
      }
    }),
    { numRuns: 6 },
  );
  expect(parts).toBeGreaterThan(2); // else nothing was tried
});
