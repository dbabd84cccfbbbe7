import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { erasedUsersOf, erasureHash } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { type BigQueryWorld, bigqueryWorld } from "../../../fixtures/bigquery-world.ts";
import {
  DAY,
  type GrowingRow,
  growingShop,
  growingSpec,
  hourly,
  NOW_SECONDS,
  type ReadGrowing,
  readGrowing,
  withoutTelling,
} from "../../../fixtures/growing-shop.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../../../fixtures/postgres-server.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "incremental-stores-"));
});
afterAll(() => rm(folder, { recursive: true }));

const literal = (value: unknown) => (typeof value === "string" ? `'${value}'` : String(value));
const valuesOf = (rows: readonly GrowingRow[]) =>
  rows.map(({ u, i, at, l }) => `(${literal(u)}, ${literal(i)}, to_timestamp(${at}), ${l})`).join(", ");

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");

describe.skipIf(!bin)("a Postgres server", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(bin!);
  });
  afterAll(() => server.stop());

  const hold = (rows: readonly GrowingRow[]) =>
    server.execute(`DROP TABLE IF EXISTS events;
      CREATE TABLE events (u text, i text, at timestamptz, l integer);
      INSERT INTO events VALUES ${valuesOf(rows)}`);
  const read = (kept: string | undefined, options: Partial<ReadGrowing> = {}) => {
    const location = `postgres://owner@127.0.0.1:${server.port}/postgres`;
    const config = { type: "Postgres", location, password: { env: "OWNER" }, sslmode: "disable" };
    const settings = { ...fileSettings([], folder), timeoutSeconds: 20, allowPrivateAddresses: true, memoryMb: 128 };
    return readGrowing({
      spec: growingSpec(config, "SELECT * FROM events"),
      context: { customer: "acme", settings: { ...settings, secret: () => server.password } },
      folder,
      ...(kept === undefined ? {} : { kept: { directory: kept } }),
      ...options,
    });
  };

  test("sends a second run only what came since, and a day before that", async () => {
    const kept = await mkdtemp(join(folder, "kept-"));
    await hold(hourly(100));
    expect((await read(kept)).fetched).toBe(100);
    await server.execute(
      `INSERT INTO events VALUES ${valuesOf(hourly(1))}, ('new', 'i9', to_timestamp(${NOW_SECONDS}), 1)`,
    );
    const second = await read(kept);
    expect(second.fetched).toBe(25 + 2);
    expect(second.summary.sources).toEqual([
      "interactions: 27 rows read since 2024-12-31T00:00:00Z, 75 kept from before",
    ]);
    expect(withoutTelling(second)).toEqual(withoutTelling(await read(undefined)));
  });

  test("agrees with what is kept although some times are none that the trainer can take", async () => {
    const kept = await mkdtemp(join(folder, "kept-"));
    await hold(hourly(100));
    await server.execute(
      "INSERT INTO events SELECT 'odd', 'i0', unnest(ARRAY['-infinity', '0044-03-15 BC', 'infinity', '0001-01-01'])::timestamptz, 1",
    );
    await read(kept);
    const second = await read(kept);
    expect(second.summary.sources).toEqual([
      "interactions: 28 rows read since 2024-12-31T00:00:00Z, 76 kept from before",
    ]);
    expect(withoutTelling(second)).toEqual(withoutTelling(await read(undefined)));
  });

  test("gives what a full read gives, whatever is appended, comes late or is deleted between runs", async () => {
    const at = fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: -DAY, max: 0 }) },
      { weight: 1, arbitrary: fc.integer({ min: -5 * DAY, max: -DAY }) },
    );
    const row = fc.record({
      u: fc.constantFrom("a", "b"),
      i: fc.constantFrom("x", "y"),
      at,
      l: fc.constant(1 as const),
    });
    const change = fc.record({ added: fc.array(row, { maxLength: 3 }), deletes: fc.nat(9).map((n) => n === 0) });
    let parts = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 4, maxLength: 4 }), async (changes) => {
        const kept = await mkdtemp(join(folder, "kept-"));
        await hold(hourly(100));
        for (const { added, deletes } of changes) {
          const rows = added.map((one) => ({ ...one, at: NOW_SECONDS + one.at }));
          if (rows.length > 0) await server.execute(`INSERT INTO events VALUES ${valuesOf(rows)}`);
          if (deletes) await server.execute("DELETE FROM events WHERE at = (SELECT min(at) FROM events)");
          const run = await read(kept);
          if (run.summary.sources!.join().includes("kept from before")) parts++;
          expect(withoutTelling(run)).toEqual(withoutTelling(await read(undefined)));
        }
      }),
      { numRuns: 3 },
    );
    expect(parts).toBeGreaterThan(2); // else nothing was tried
  });
});

describe("BigQuery", () => {
  let world: BigQueryWorld;
  beforeAll(async () => {
    world = await bigqueryWorld();
    await world.fake.engine.execute("CREATE OR REPLACE MACRO UNIX_MICROS(moment) AS epoch_us(moment)");
  });
  afterAll(() => world.stop());
  const read = (options: Partial<ReadGrowing> = {}) =>
    readGrowing({
      spec: growingSpec(
        { type: "BigQuery", project_id: "acme-data", location: "EU" },
        "SELECT * FROM `acme-data.shop.events`",
      ),
      context: { customer: "acme", settings: { ...world.settings(), memoryMb: 128 } },
      folder,
      ...options,
    });

  test("gives a second run the new rows and the count of the old ones by one job", async () => {
    const kept = { directory: await mkdtemp(join(folder, "kept-")) };
    const { engine, jobs } = world.fake;
    await engine.execute('CREATE TABLE shop.events (u VARCHAR, i VARCHAR, "at" TIMESTAMPTZ, l INTEGER)');
    await engine.execute(`INSERT INTO shop.events VALUES ${valuesOf(hourly(100))}`);
    await read({ kept });
    await engine.execute(`INSERT INTO shop.events VALUES ${valuesOf(hourly(1))}`);
    const before = jobs.size;
    const second = await read({ kept });
    expect(jobs.size - before).toBe(1);
    expect(second.fetched).toBe(26);
    expect(second.summary.sources).toEqual([
      expect.stringMatching(/^interactions: BigQuery job acme-data:EU\.shortlist-/),
      "interactions: 26 rows read since 2024-12-31T00:00:00Z, 75 kept from before",
    ]);
    expect(withoutTelling(second)).toEqual(withoutTelling(await read()));

    await engine.execute(`DELETE FROM shop.events WHERE "at" < to_timestamp(${NOW_SECONDS - 90 * 3600})`);
    const third = await read({ kept });
    expect(third.fetched).toBe(101 - 9);
    expect(third.summary.warnings[0]).toContain("66 rows, not 75");
  });
});

test("a store that cannot part its rows is read in full, and the record says so", async () => {
  const kept = { directory: await mkdtemp(join(folder, "kept-")) };
  const context = { customer: "acme", settings: fileSettings([], folder) };
  const query = `SELECT u, i, to_timestamp(s) AS "at", l FROM (VALUES ('a', 'x', 5, 1), ('b', 'y', 6, 1)) v(u, i, s, l)`;
  const { summary } = await readGrowing({
    spec: growingSpec({ type: "Memory" }, query),
    context,
    folder,
    kept,
    connect: connectMemory,
  });
  expect(summary.warnings[0]).toBe(
    "The interactions are declared incremental and were read in full all the same: this type of connector cannot read a part of a query",
  );
  expect(await readdir(kept.directory)).toEqual([]);
});

test("erased users' rows are not kept, and the source that still has them agrees all the same", async () => {
  const shop = await growingShop();
  try {
    await shop.hold([...hourly(100), { u: "gone", i: "i0", at: NOW_SECONDS - 3 * DAY, l: 1 }]);
    const salt = "0".repeat(32);
    const erased = erasedUsersOf(salt, [await erasureHash(salt, "gone" as UserId)]);
    await shop.run();
    const second = await shop.run({ erased });
    expect(second.summary).toMatchObject({ interactions: 100, erased_rows: 1 });
    const third = await shop.run({ erased });
    expect(third.fetched).toBe(25);
    expect(third.summary.sources?.join()).toContain("75 kept from before"); // and not 76
    expect(withoutTelling(third)).toEqual(withoutTelling(await shop.readAll({ erased })));
  } finally {
    await shop.close();
  }
});

const small = smallDisk("64k");
test.skipIf(small === undefined)("on a full disk the run goes on without a copy, and the record says so", async () => {
  const shop = await growingShop();
  try {
    const many = Array.from({ length: 20_000 }, (_, n) => ({
      u: `user ${(n * 7919) % 6000}`,
      i: `i${(n * 104_729) % 997}`,
      at: NOW_SECONDS - 2 * DAY - ((n * 15_485_863) % 9_999_991),
      l: 1 as const,
    }));
    await shop.hold([...many, ...hourly(2)]);
    const kept = { directory: small! };
    for (const _ of [1, 2]) {
      const { fetched, summary } = await shop.run({ kept });
      expect(fetched).toBe(20_002);
      expect(summary.warnings[0]).toContain(
        "The interactions could not be kept, so that the next run reads them in full: The trainer's disk is full",
      );
      expect(await readdir(small!)).toEqual([]);
    }
  } finally {
    await shop.close();
  }
});
