/** Users without a history are ranked by their attributes: from the trainer's files to the answer of the real Worker. */

import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttributeColumn } from "../../shared/attributes.ts";
import { erasureHash } from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { stringAt } from "../../shared/packed-strings.ts";
import { refitUserValues, servedCodes } from "../../trainer/choose/users-without-history/serve-user-values.ts";
import { buildVersion, userSalt } from "../../trainer/publish/build-version.ts";
import { withUserValues } from "../../trainer/publish/with-user-values.ts";
import { reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
import { codesOfCells, userValueTable } from "../../trainer/read/dataset/user-value-table.ts";
import { historiesOf } from "../../trainer/read/spool/user-histories.ts";
import { createSpool } from "../../trainer/read/spool/user-spool.ts";
import { addErasedUsers } from "../../trainer/store/erased-list.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../trainer/store/publish.ts";
import { byFallingScore, countPerItem } from "../fixtures/by-popularity.ts";
import { similarityModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { tastesByCity } from "../fixtures/tastes-by-city.ts";

const ITEMS = 30;
const CITIES = ["Bonn", "Ulm"];
const TEAMS = ["blue", "green", "red"];
/** Odd items are sold in Ulm, even ones in Bonn. */
const SOLD_IN: AttributeColumn = {
  name: "sold_in",
  type: "Category",
  dictionary: CITIES,
  start: Uint32Array.from({ length: ITEMS + 1 }, (_, item) => item),
  codes: Uint32Array.from({ length: ITEMS }, (_, item) => item % 2),
};
const raw = { ...tastesByCity({ users: 120, items: ITEMS, perUser: 8 }), itemAttributes: [SOLD_IN] };
const dataset = reorderItems(raw, byFallingScore(countPerItem(raw)));
const table = userValueTable(dataset.userAttributes);
const CHOICE = { shrink: 5, weight: 0.75, values: [0, 1, 2, 3, 4] };
const model = { customer: "acme", modelName: "shop" };
const idOf = (item: number) => Number(stringAt(dataset.itemIds, item));

/** Users without a history, with their attributes. */
const NEWCOMERS: Readonly<Record<string, readonly [city: string | null, team: string | null]>> = {
  "new-bonn-red": ["Bonn", "red"],
  "new-ulm": ["Ulm", null],
  "new-green": [null, "green"],
  "new-erased": ["Ulm", "blue"],
  "user-1": ["Ulm", null], // who has a history
};

let edge: EdgeWorld;
let folder: string;
beforeAll(async () => {
  edge = await startEdge();
  folder = await mkdtemp(join(tmpdir(), "edge-user-values-"));
  const createdAtMs = Date.now();
  const salt = userSalt({ ...model, createdAtMs });
  const hashed = Object.entries(NEWCOMERS).map(([id, cells]) => {
    const digest = createHash("sha256").update(salt).update(id).digest();
    return { hash: { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) }, values: codesOfCells(table, cells) };
  });
  const path = join(folder, "values.spool");
  const spool = await createSpool(path);
  for (const { hash, values } of hashed.sort((a, b) => a.hash.high - b.hash.high))
    await spool.add(hash, { items: [], times: [], seen: [], values });
  const userCount = await spool.end();
  await spool.close();
  // Whoever chose an item is recommended its mirror image.
  const mirror = new Float32Array(ITEMS * ITEMS);
  for (let item = 0; item < ITEMS; item++) mirror[item * ITEMS + (ITEMS - 1 - item)] = 1;
  const built = await buildVersion({
    ...model,
    itemIdColumn: "item_id",
    createdAtMs,
    dataset,
    exported: similarityModel(ITEMS, mirror),
    method: "similarity",
    historyMax: 50,
    users: withUserValues(
      historiesOf(dataset, dataset.userIds, salt),
      { path, table, userCount },
      servedCodes(table, CHOICE),
    ),
    userValues: refitUserValues(dataset, { table, choice: CHOICE, halfLifeDays: 0 }),
    workDirectory: folder,
  });
  await setStatus(edge.store, model, { status: "SCHEDULING", nowMs: createdAtMs });
  const signal = new AbortController().signal;
  const nowMs = () => createdAtMs;
  await publish(built, new TextEncoder().encode("{}"), { store: edge.store, nowMs, signal, progress: () => {} });
});
afterAll(async () => {
  await edge.stop();
  await rm(folder, { recursive: true, force: true });
});

async function rank(user: string, { path = "", body }: { path?: string; body?: object } = {}) {
  const url = `/v0/models/shop/rank${body ? "" : `?user_id=${user}&limit=${ITEMS}${path}`}`;
  const answer = await edge.call(url, body && { body: { user_id: user, limit: ITEMS, ...body } });
  const ids = (await answer.json()) as number[];
  expect([answer.status, ids]).toEqual([200, expect.any(Array)]);
  return { ids, strategy: answer.headers.get("x-rank-strategy") };
}

/** The definition written out: log(n + ½) + Σ weight · log((c + s) ÷ (e + s)), counted from the rows. */
function expectedScores(cells: readonly (string | null)[]): number[] {
  const groups = [CITIES, TEAMS].map((names, c) => {
    const code = cells[c] === null ? -1 : names.indexOf(cells[c]!);
    return (user: number) => (c === 0 ? user % 2 : (user >> 1) % 3) === code;
  });
  const chosen: { user: number; item: number }[] = [];
  for (let user = 0; user < dataset.userCount; user++)
    for (let row = dataset.userStart[user]!; row < dataset.userStart[user + 1]!; row++)
      chosen.push({ user, item: dataset.items[row]! });
  return Array.from({ length: ITEMS }, (_, item) => {
    const all = chosen.filter((one) => one.item === item).length;
    let score = Math.log(all + 0.5);
    for (const [c, isOf] of groups.entries()) {
      if (cells[c] === null) continue;
      const own = chosen.filter((one) => isOf(one.user));
      const count = own.filter((one) => one.item === item).length;
      const expected = (all * own.length) / chosen.length;
      score += CHOICE.weight * Math.log((count + CHOICE.shrink) / (expected + CHOICE.shrink));
    }
    return score;
  });
}

test.each(["new-bonn-red", "new-ulm", "new-green"])(
  "%s, who has never done anything, gets the list of the reference",
  async (user) => {
    const { ids, strategy } = await rank(user);
    expect(strategy).toBe("personalized");
    const scores = expectedScores(NEWCOMERS[user]!);
    const scoreOf = new Map(scores.map((score, item) => [idOf(item), score]));
    expect([...ids].sort()).toEqual([...scoreOf.keys()].sort());
    // Ratios have eight bits, which moves a score by up to a hundredth: no item precedes one that is better by more.
    for (let i = 1; i < ids.length; i++) expect(scoreOf.get(ids[i]!)! - scoreOf.get(ids[i - 1]!)!).toBeLessThan(0.02);
    expect(ids).not.toEqual((await rank("nobody")).ids);
  },
);

test("cities with different tastes get different lists, each of its own taste", async () => {
  const [bonn, ulm] = [await rank("new-bonn-red"), await rank("new-ulm")];
  const odd = (ids: readonly number[]) => ids.slice(0, 8).filter((id) => id % 2).length;
  expect([odd(bonn.ids), odd(ulm.ids)]).toEqual([0, 8]);
});

test("an unknown user gets popular items, and so does an erased user at once", async () => {
  const nobody = await rank("nobody");
  expect(nobody).toEqual({ ids: Array.from({ length: ITEMS }, (_, item) => idOf(item)), strategy: "popular" });
  const salt = "5a".repeat(16);
  const before = await rank("new-erased");
  expect(before.ids).not.toEqual(nobody.ids);
  await addErasedUsers(edge.store, "acme", { salt, hashes: [await erasureHash(salt, "new-erased" as UserId)] });
  await expect.poll(() => rank("new-erased"), { timeout: 20_000, interval: 200 }).toEqual(nobody);
  expect((await rank("new-ulm")).strategy).toBe("personalized");
});

test("a session or a history is used instead of the attributes", async () => {
  const session = await rank("new-ulm", { body: { interactions: [{ item_id: idOf(2) }] } });
  expect([session.ids[0], session.strategy]).toEqual([idOf(ITEMS - 3), "session"]);
  const anonymous = await edge.call("/v0/models/shop/rank", {
    body: { limit: ITEMS, interactions: [{ item_id: idOf(2) }] },
  });
  expect(await anonymous.json()).toEqual(session.ids);
  const known = await rank("user-1");
  const seen = new Set(Array.from(dataset.items.subarray(dataset.userStart[1], dataset.userStart[2]), idOf));
  expect([known.strategy, known.ids.filter((id) => seen.has(id))]).toEqual(["personalized", []]);
});

test("a filter keeps the order of the list by attributes", async () => {
  const all = await rank("new-ulm");
  const wanted = all.ids.filter((id) => id % 3 === 0);
  const { ids, strategy } = await rank("new-ulm", { body: { retrieval: { item_id: { $in: wanted.toReversed() } } } });
  expect([ids, strategy]).toEqual([wanted, "personalized"]);
});

test("a rule refers to the attributes of the user, as stored unless the call sends them", async () => {
  const retrieval = { sold_in: { $user: "city" } };
  const citiesOf = async (user: string, more: object = {}) => {
    const { ids } = await rank(user, { body: { retrieval, ...more } });
    return [...new Set(ids.map((id) => CITIES[id % 2]))].join();
  };
  expect(await citiesOf("new-ulm")).toBe("Ulm");
  expect(await citiesOf("new-bonn-red")).toBe("Bonn");
  expect(await citiesOf("user-1")).toBe("Ulm");
  expect(await citiesOf("new-ulm", { user: { city: "Bonn" } })).toBe("Bonn");
  expect(await citiesOf("new-ulm", { user: { team: "red" } })).toBe("Ulm");
  expect(await citiesOf("new-ulm", { user: { city: null } })).toBe("");
  expect(await citiesOf("new-green")).toBe("");
  expect(await citiesOf("nobody", { retrieval: { sold_in: { $user: "city", default: "Bonn" } } })).toBe("Bonn");
  const boosts = [{ retrieval, by: 10 }];
  const { ids } = await rank("new-ulm", { body: { boosts } });
  expect(ids.slice(0, 15).every((id) => id % 2 === 1)).toBe(true);
});
