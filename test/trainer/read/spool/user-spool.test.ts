import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HashedUser } from "../../../../trainer/read/spool/user-histories.ts";
import { createSpool, readSpool } from "../../../../trainer/read/spool/user-spool.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "spool-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function through(users: readonly HashedUser[]) {
  const path = join(folder, "users.bin");
  const spool = await createSpool(path);
  for (const { hash, content } of users) await spool.add(hash, content);
  expect(await spool.end()).toBe(users.length);
  await spool.close();
  return (await Array.fromAsync(readSpool(path))).flat();
}

const rising = (numbers: readonly number[]) => [...new Set(numbers)].sort((a, b) => a - b);
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const content = fc
  .record({
    facts: fc.array(fc.tuple(fc.nat(1e6), u32), { maxLength: 20 }),
    seen: fc.array(fc.nat(1e6)),
    values: fc.array(fc.nat(255), { maxLength: 5 }),
  })
  .map(({ facts, seen, values }) => ({
    ...(values.length > 0 && { values }),
    items: facts.map(([item]) => item),
    times: facts.map(([, time]) => time).sort((a, b) => a - b),
    seen: rising(seen),
  }));

test("users are read as they were written", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(u32, content), { maxLength: 20 }), async (entries) => {
      const highs = rising(entries.map(([high]) => high));
      const users = highs.map((high, i) => ({ hash: { high, low: i }, content: entries[i]![1] }));
      expect(await through(users)).toEqual(users);
    }),
    { numRuns: 50 },
  ));

test("users larger than a read, and more users than a batch, are read completely", async () => {
  const many = Array.from({ length: 400_000 }, (_, i) => i * 3);
  const users: HashedUser[] = Array.from({ length: 3000 }, (_, i) => ({
    hash: { high: i, low: 0 },
    content: { items: [i], times: [1e9 + i], seen: i % 1500 === 7 ? many.map((item) => item * 100) : [i] },
  }));
  expect(await through(users)).toEqual(users);
});

test("users out of order and equal hashes are refused", async () => {
  const spool = await createSpool(join(folder, "wrong.bin"));
  const nothing = { items: [], times: [], seen: [] };
  await spool.add({ high: 2, low: 0 }, nothing);
  await expect(spool.add({ high: 1, low: 0 }, nothing)).rejects.toThrow("ascending hashes");
  await expect(spool.add({ high: 2, low: 0 }, nothing)).rejects.toMatchObject({ code: "user_hash_collision" });
  await spool.close();
});
