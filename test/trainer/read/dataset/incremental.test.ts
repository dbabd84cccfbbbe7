import { copyFile, mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { erasedUsersOf, erasureHash } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { bigqueryWorld } from "../../../fixtures/bigquery-world.ts";
import {
  comparable,
  DAY,
  type GrowingRow,
  type GrowingShop,
  growingShop,
  growingSpec,
  hourly,
  NOW_SECONDS,
  type ReadGrowing,
  readGrowing,
} from "../../../fixtures/growing-shop.ts";
import { findPostgres, startPostgres } from "../../../fixtures/postgres-server.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";

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
/** Runs twice, on one table and then on another, and expects of the second run what a full read gives. */
async function runTwice(first: readonly GrowingRow[], second: readonly GrowingRow[], timeType?: string) {
  const world = await opened(first, timeType);
  const before = await world.run();
  await world.hold(second);
  const after = await world.run();
  expect(comparable(after)).toEqual(comparable(await world.readAll()));
  return { before, after };
}

describe("a second run", () => {
  test("reads the new rows and those of the overlap", async () => {
    const earlier = hourly(103).slice(0, 100);
    const { before, after } = await runTwice(earlier, hourly(103));
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

  test("finds rows that came late and labels that changed, within the overlap", async () => {
    const late = { u: "late", i: "i0", at: NOW_SECONDS - 20 * 3600, l: 1 as const };
    const flipped = hourly(100).map((row) => (row.at! > NOW_SECONDS - DAY ? { ...row, l: 1 as const } : row));
    const { after } = await runTwice(hourly(100), [late, ...flipped]);
    expect(after.fetched).toBe(26);
  });

  test("finds rows without a time, without a user and of the future", async () => {
    const odd: GrowingRow[] = [
      { u: "u0", i: "i0", at: null, l: 1 },
      { u: null, i: "i0", at: NOW_SECONDS - 90 * 3600, l: 1 },
      { u: "u0", i: "i1", at: NOW_SECONDS + 900 * DAY, l: 1 },
    ];
    const { after } = await runTwice([...hourly(100), ...odd], [...hourly(100), ...odd, odd[0]!, odd[2]!]);
    expect(after.fetched).toBe(25 + 4);
    expect(after.summary.rejected_rows).toEqual({ missing_time: 2, future_time: 2, missing_user: 1 });
  });

  test("does not bring back rows of users who were erased meanwhile", async () => {
    const world = await opened([...hourly(100), { u: "gone", i: "i0", at: NOW_SECONDS - 3 * DAY, l: 1 }]);
    const salt = "0".repeat(32);
    const erased = erasedUsersOf(salt, [await erasureHash(salt, "gone" as UserId)]);
    await world.run();
    expect((await world.run({ erased })).summary).toMatchObject({ interactions: 100, erased_rows: 1 });
    const third = await world.run({ erased });
    expect(third.summary.sources?.join()).toContain("75 kept from before"); // and not 76
    expect(third.dataset).toEqual((await world.readAll({ erased })).dataset);
  });
});

test("whatever is appended within the overlap, a run gives what a full read gives", async () => {
  const row = fc.record({
    u: fc.option(fc.constantFrom("a", "b", "c"), { freq: 8 }),
    i: fc.constantFrom("x", "y", "z"),
    at: fc.option(fc.integer({ min: NOW_SECONDS - DAY / 2, max: NOW_SECONDS + DAY / 2 }), { freq: 8 }),
    l: fc.constantFrom(0 as const, 1 as const),
  });
  const base: GrowingRow[] = [
    { u: "a", i: "x", at: NOW_SECONDS - 2 * DAY, l: 1 },
    { u: "b", i: "y", at: NOW_SECONDS - DAY / 2, l: 1 },
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 4 }), { minLength: 3, maxLength: 4 }), async (batches) => {
      const world = await growingShop();
      try {
        let rows = base;
        for (const [n, batch] of batches.entries()) {
          rows = [...rows, ...batch];
          await world.hold(rows);
          const run = await world.run();
          expect(run.summary.sources?.join().includes("kept from before")).toBe(n > 0);
          expect(comparable(run)).toEqual(comparable(await world.readAll()));
        }
      } finally {
        await world.close();
      }
    }),
    { numRuns: 4 },
  );
});

test("a full read, once in seven days, finds what changed in old rows", async () => {
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
  expect((await world.run({ kept, nowMs: (NOW_SECONDS + DAY) * 1000 })).fetched).toBe(100);
  const always = await world.run({ kept: { ...kept, fullReadSeconds: 0 } });
  expect([always.fetched, always.summary.sources, await readdir(world.kept)]).toEqual([100, undefined, []]);
});

describe("all rows are read when", () => {
  test("the query has changed", async () => {
    const world = await opened(hourly(100));
    await world.run();
    const spec = structuredClone(world.spec);
    spec.schema.interaction.source.query += " WHERE l = 1";
    const other = await world.run({ spec });
    expect(other.summary.sources?.join()).toContain("its connector or its columns differ");
    expect(comparable(other)).toEqual(comparable(await world.readAll({ spec })));
  });

  const changeTypeTo = async (world: GrowingShop, timeType: string) => {
    const other = await growingShop(timeType);
    await other.hold(hourly(100));
    await copyFile(join(other.folder, "events.parquet"), join(world.folder, "events.parquet"));
    await other.close();
  };
  test("a column has another type", async () => {
    const world = await opened(hourly(100));
    await world.run();
    await changeTypeTo(world, "DATE");
    expect((await world.run()).summary.sources?.join()).toContain("its columns differ");
  });

  test("times as digits of the clock are read in full each time", async () => {
    const { after } = await runTwice(hourly(100), hourly(110), "digits");
    expect(after.fetched).toBe(110);
    expect(after.summary.interactions).toBe(110);
  });

  test("times have become text: the copy is removed and a warning says so", async () => {
    const world = await opened(hourly(100));
    await world.run();
    await changeTypeTo(world, "VARCHAR");
    const { fetched, summary } = await world.run();
    expect(fetched).toBe(100);
    expect(summary.warnings[0]).toContain('its column "at" has the type VARCHAR, whose order is not that of time');
    expect(await readdir(world.kept)).toEqual([]);
  });

  test("the copy is cut off, and the next run has a new one", async () => {
    const world = await opened(hourly(100));
    await world.run();
    await truncate(join(world.kept, "interactions/rows.parquet"), 100);
    const { fetched, summary } = await world.run();
    expect(fetched).toBe(100);
    expect(summary.sources?.join()).toContain("nothing is kept of an earlier run");
    expect((await world.run()).fetched).toBe(25);
  });
});

test("a source that is no longer declared incremental loses its copy", async () => {
  const world = await opened(hourly(100));
  await world.run();
  expect(await readdir(world.kept)).toEqual(["interactions"]);
  const spec = structuredClone(world.spec);
  spec.schema.interaction.incremental = false;
  const { fetched, summary } = await world.run({ spec });
  expect([fetched, summary.sources, await readdir(world.kept)]).toEqual([100, undefined, []]);
});

test("a run that is stopped ends with its reason and leaves the copy", async () => {
  const world = await opened(hourly(100));
  await world.run();
  const reason = new Error("stop now");
  await expect(world.run({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect((await world.run()).fetched).toBe(25);
});

const small = smallDisk("64k");
test.skipIf(small === undefined)("on a full disk the run goes on without a copy, and the record says so", async () => {
  const many = Array.from({ length: 20_000 }, (_, n) => ({
    u: `user ${(n * 7919) % 6000}`,
    i: `i${(n * 104_729) % 997}`,
    at: NOW_SECONDS - 2 * DAY - ((n * 15_485_863) % 9_999_991),
    l: 1 as const,
  }));
  const world = await opened([...many, ...hourly(2)]);
  for (const _ of [1, 2]) {
    const { fetched, summary } = await world.run({ kept: { directory: small! } });
    expect(fetched).toBe(20_002);
    expect(summary.warnings[0]).toContain(
      "The interactions could not be kept, so that the next run reads them in full: The trainer's disk is full",
    );
    expect(await readdir(small!)).toEqual([]);
  }
});

describe("other stores", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "incremental-"));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const valuesOf = (rows: readonly GrowingRow[]) =>
    rows.map(({ u, i, at, l }) => `('${u}', '${i}', to_timestamp(${at}), ${l})`).join(", ");

  /** Two runs with rows added in between. `execute` takes SQL that DuckDB and Postgres read alike. */
  async function twoRuns(
    execute: (sql: string) => Promise<unknown>,
    table: string,
    source: Pick<ReadGrowing, "spec" | "context">,
  ) {
    await execute(`CREATE TABLE ${table} (u VARCHAR, i VARCHAR, "at" TIMESTAMPTZ, l INTEGER)`);
    await execute(`INSERT INTO ${table} VALUES ${valuesOf(hourly(100))}`);
    const kept = { directory: await mkdtemp(join(folder, "kept-")) };
    const first = await readGrowing({ ...source, folder, kept });
    await execute(`INSERT INTO ${table} VALUES ${valuesOf(hourly(1))}`);
    const second = await readGrowing({ ...source, folder, kept });
    expect([first.fetched, second.fetched]).toEqual([100, 26]);
    expect(second.summary.sources?.at(-1)).toBe(
      "interactions: 26 rows read since 2024-12-31T00:00:00Z, 75 kept from before",
    );
    expect(comparable(second)).toEqual(comparable(await readGrowing({ ...source, folder })));
  }

  const bin = findPostgres();
  if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");
  test.skipIf(!bin)("Postgres sends a second run only the new rows", async () => {
    const server = await startPostgres(bin!);
    try {
      const location = `postgres://owner@127.0.0.1:${server.port}/postgres`;
      const config = { type: "Postgres", location, password: { env: "OWNER" }, sslmode: "disable" };
      const settings = { ...fileSettings([], folder), allowPrivateAddresses: true, memoryMb: 128 };
      const context = { customer: "acme", settings: { ...settings, secret: () => server.password } };
      await twoRuns(server.execute, "events", { spec: growingSpec(config, "SELECT * FROM events"), context });
    } finally {
      await server.stop();
    }
  });

  test("BigQuery sends a second run only the new rows", async () => {
    const world = await bigqueryWorld();
    try {
      const config = { type: "BigQuery", project_id: "acme-data", location: "EU" };
      const spec = growingSpec(config, "SELECT * FROM `acme-data.shop.events`");
      const context = { customer: "acme", settings: { ...world.settings(), memoryMb: 128 } };
      await twoRuns((sql) => world.fake.engine.execute(sql), "shop.events", { spec, context });
    } finally {
      await world.stop();
    }
  });
});

test("files of a table that are older than the watermark are not read again", async () => {
  const world = await opened([]);
  const context = { ...world.context, settings: fileSettings([world.folder], join(world.folder, "temp")) };
  const spec = growingSpec({ type: "File", tables: { clicks: "clicks/**/*.csv" } }, "SELECT * FROM clicks");
  const write = async (day: number, rows: readonly GrowingRow[], writtenDay = day) => {
    const directory = join(world.folder, "clicks", `dt=${isoDay(day)}`);
    await mkdir(directory, { recursive: true });
    const path = join(directory, "part.csv");
    await writeFile(path, ["u,i,at,l", ...rows.map(({ u, i, at, l }) => [u, i, at, l].join())].join("\n"));
    await utimes(path, NOW_SECONDS, NOW_SECONDS + (writtenDay + 1) * DAY);
  };
  const rowsOf = (day: number): GrowingRow[] => hourly(24).map((row) => ({ ...row, at: row.at! + day * DAY }));
  for (const day of [-9, -8, -7, -6, -5]) await write(day, rowsOf(day));
  const kept = { directory: world.kept };
  expect((await readGrowing({ spec, context, folder: world.folder, kept })).fetched).toBe(5 * 24);

  await write(-9, [...rowsOf(-9), { u: "unread", i: "i0", at: NOW_SECONDS - 5.5 * DAY, l: 1 }]);
  await write(-4, rowsOf(-4));
  const second = await readGrowing({ spec, context, folder: world.folder, kept });
  expect(second.fetched).toBe(25 + 24); // the day of the overlap and the new file, without the row in the old one
  expect(second.summary.interactions).toBe(6 * 24);

  await write(-8, [...rowsOf(-8), { u: "found", i: "i0", at: NOW_SECONDS - 4.5 * DAY, l: 1 }], 0);
  const third = await readGrowing({ spec, context, folder: world.folder, kept });
  expect(third.fetched).toBe(26); // a file that was written again is read
});

const isoDay = (day: number) => new Date((NOW_SECONDS + day * DAY) * 1000).toISOString().slice(0, 10);
