import { existsSync } from "node:fs";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withUserValues } from "../../../trainer/publish/with-user-values.ts";
import type { HashedUser, UserHistories } from "../../../trainer/read/spool/user-histories.ts";
import { createSpool } from "../../../trainer/read/spool/user-spool.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "with-values-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Users of an even number have a history; the others have only seen something. */
const user = (high: number, more: object = {}): HashedUser => {
  const history = high % 2 === 0 ? [high] : [];
  return { hash: { high, low: 1 }, content: { items: history, times: history, seen: [high], ...more } };
};
const historiesOf = (highs: readonly number[], batch = 2): UserHistories => ({
  userCount: highs.length,
  itemCount: 1e6,
  salt: new Uint8Array(16),
  async *batches() {
    for (let from = 0; from < highs.length; from += batch)
      yield highs.slice(from, from + batch).map((high) => user(high));
  },
});

async function merged(
  known: readonly number[],
  valued: readonly (readonly [number, number[]])[],
  served: readonly number[],
) {
  const path = join(folder, "values.spool");
  const spool = await createSpool(path);
  for (const [high, values] of valued) await spool.add({ high, low: 1 }, { items: [], times: [], seen: [], values });
  await spool.end();
  await spool.close();
  const table = { columns: [], valueCount: 9 };
  const histories = withUserValues(historiesOf(known), { path, table, userCount: valued.length }, served);
  const batches = await Array.fromAsync(histories.batches());
  return { userCount: histories.userCount, users: batches.flat(), batches };
}

const newcomer = (high: number, values: number[]): HashedUser => ({
  hash: { high, low: 1 },
  content: { items: [], times: [], seen: [], values },
});

test("users get the codes that are served, newcomers come between by hash, all others stay as before", async () => {
  const { users, userCount } = await merged(
    [2, 3, 5, 6],
    [
      [1, [3]],
      [3, [0, 3, 5]],
      [5, [0]],
      [6, [3]],
      [7, [0]],
      [9, [5]],
    ],
    [3, 5],
  );
  expect(users).toEqual([
    newcomer(1, [0]),
    user(2),
    user(3, { values: [0, 1] }),
    user(5),
    user(6, { values: [0] }),
    newcomer(9, [1]),
  ]);
  expect(userCount).toBe(10);
});

test("nobody with values, nobody with a history, and nobody at all", async () => {
  expect((await merged([2, 4], [], [0])).users).toEqual([user(2), user(4)]);
  expect(
    (
      await merged(
        [],
        [
          [1, [2]],
          [3, [2]],
        ],
        [2],
      )
    ).users,
  ).toEqual([newcomer(1, [0]), newcomer(3, [0])]);
  expect((await merged([], [], [2])).users).toEqual([]);
});

test("every user comes once, by rising hash, with the codes that were given, a bounded number at a time", () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(3000), { maxLength: 60 }),
      fc.uniqueArray(fc.tuple(fc.nat(3000), fc.subarray([0, 1, 2, 3])), { maxLength: 60, selector: ([high]) => high }),
      async (known, valued) => {
        const sorted = known.sort((a, b) => a - b);
        const spooled = valued.sort(([a], [b]) => a - b).filter(([, values]) => values.length > 0);
        const { users } = await merged(sorted, spooled, [0, 1, 2, 3]);
        const highs = [...new Set([...sorted, ...spooled.map(([high]) => high)])].sort((a, b) => a - b);
        expect(users.map(({ hash }) => hash.high)).toEqual(highs);
        const given = new Map(spooled);
        for (const { hash, content } of users) {
          expect(content.seen.length).toBe(sorted.includes(hash.high) ? 1 : 0);
          expect(content.values).toEqual(given.get(hash.high));
        }
      },
    ),
    { numRuns: 50 },
  ));

test("very many newcomers between two users do not pile up", async () => {
  const many = Array.from({ length: 5000 }, (_, i): [number, number[]] => [i + 1, [0]]);
  const { batches, users } = await merged([0, 6000], many, [0]);
  expect(users).toHaveLength(5002);
  expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(1025);
});

const FILES = "/proc/self/fd";
const openFiles = async () =>
  await Promise.all((await readdir(FILES)).map((name) => readlink(join(FILES, name)).catch(() => "")));

test.skipIf(!existsSync(FILES))("whoever stops half-way leaves no file open", async () => {
  const path = join(folder, "left.spool");
  const spool = await createSpool(path);
  for (const high of [1, 9001]) await spool.add({ high, low: 1 }, { items: [], times: [], seen: [], values: [0] });
  await spool.end();
  await spool.close();
  const table = { columns: [], valueCount: 9 };
  const known = historiesOf(Array.from({ length: 3000 }, (_, i) => 2 * i)); // more than one batch
  for await (const _ of withUserValues(known, { path, table, userCount: 2 }, [0]).batches()) {
    expect(await openFiles()).toContain(path);
    break;
  }
  expect(await openFiles()).not.toContain(path);
});
