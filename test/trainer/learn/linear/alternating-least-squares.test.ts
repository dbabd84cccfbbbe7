import { afterAll, expect, test } from "vitest";
import { partnersOf, solvedRows } from "../../../../trainer/learn/linear/alternating-least-squares.ts";
import { openGemm } from "../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import { openOuterProducts } from "../../../../trainer/learn/numerics/linear-algebra/outer-products.ts";
import { distinctItems, occurrencesOf, positiveHistories } from "../../../../trainer/learn/statistics/histories.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { solvedLonghand } from "../../../fixtures/solved-longhand.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";

const gemm = openGemm(1);
const outerProducts = await openOuterProducts();
afterAll(async () => {
  await gemm.close();
  await outerProducts.close();
});

const RANK = 5;
const EVERY_PAIR = 0.3;
const ridgeOf = (count: number) => 0.2 * (count + 1) ** 0.5;
const settings = { gemm, outerProducts, everyPair: EVERY_PAIR, ridgeOf, beforePiece: async () => {} };

const histories = distinctItems(positiveHistories(twoAisles()));
const { random } = fitContext(3);
const first = {
  rows: histories.itemCount,
  columns: RANK,
  values: Float32Array.from({ length: histories.itemCount * RANK }, () => random() - 0.5),
};
const byUser = partnersOf(histories.start, histories.items);
const occurrences = occurrencesOf(histories);
const byItem = partnersOf(occurrences.start, occurrences.users);
const rowsOf = (values: Float32Array) =>
  Array.from({ length: values.length / RANK }, (_, row) => [...values.subarray(row * RANK, (row + 1) * RANK)]);
const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

test("every half iteration lowers the loss, until it converges", async () => {
  let items = first;
  let users = { rows: histories.userCount, columns: RANK, values: new Float32Array(histories.userCount * RANK) };
  const losses = [lossOf(users.values, items.values)];
  for (let i = 0; i < 30; i++) {
    users = (await solvedRows(byUser, items, settings)) as typeof users;
    losses.push(lossOf(users.values, items.values));
    items = (await solvedRows(byItem, users, settings)) as typeof items;
    losses.push(lossOf(users.values, items.values));
  }
  for (let i = 1; i < losses.length; i++) expect(losses[i]!).toBeLessThan(losses[i - 1]! * (1 + 1e-6));
  expect(losses.at(-1)!).toBeLessThan(0.7 * losses[1]!);
  expect(losses.at(-1)! / losses.at(-3)!).toBeGreaterThan(0.999);
});

/** Σ chosen (1 − u·v)² + α Σ all (u·v)² + Σ ridge |u|² + Σ ridge |v|² */
function lossOf(userValues: Float32Array, itemValues: Float32Array): number {
  const [users, items] = [rowsOf(userValues), rowsOf(itemValues)];
  let loss = 0;
  for (const [user, u] of users.entries()) {
    const chosenItems = new Set(histories.items.subarray(histories.start[user], histories.start[user + 1]));
    loss += ridgeOf(chosenItems.size) * dot(u, u);
    for (const [item, v] of items.entries()) {
      loss += EVERY_PAIR * dot(u, v) ** 2 + (chosenItems.has(item) ? (1 - dot(u, v)) ** 2 : 0);
    }
  }
  for (const [item, v] of items.entries()) {
    loss += ridgeOf(byItem.start[item + 1]! - byItem.start[item]!) * dot(v, v);
  }
  return loss;
}

test("a row without partners is zero", async () => {
  const { values } = await solvedRows(partnersOf(Uint32Array.of(0, 0, 2), Int32Array.of(1, 2)), first, settings);
  expect([...values.subarray(0, RANK)]).toEqual(new Array(RANK).fill(0));
  expect(values.subarray(RANK).every((value) => value !== 0)).toBe(true);
});

test("a row with many partners is solved in parts, next to short rows", async () => {
  const many = 5000;
  const vectors = { rows: many, columns: 2, values: Float32Array.from({ length: 2 * many }, () => random() - 0.5) };
  const partners = Int32Array.from({ length: many + 3 }, (_, i) => i % many);
  const { values } = await solvedRows(
    partnersOf(Uint32Array.of(0, 2, many + 2, many + 3), partners),
    vectors,
    settings,
  );
  for (const [row, [from, to]] of [
    [0, 2],
    [2, many + 2],
    [many + 2, many + 3],
  ].entries() as Iterable<[number, [number, number]]>) {
    const listed = [...partners.subarray(from, to)].map((partner) => [
      ...vectors.values.subarray(2 * partner, 2 * partner + 2),
    ]);
    const all = Array.from({ length: many }, (_, i) => [...vectors.values.subarray(2 * i, 2 * i + 2)]);
    const system = [0, 1].map((i) =>
      [0, 1].map((j) => {
        const sum = (of: readonly (readonly number[])[]) => of.reduce((total, v) => total + v[i]! * v[j]!, 0);
        return EVERY_PAIR * sum(all) + sum(listed) + (i === j ? ridgeOf(to - from) : 0);
      }),
    );
    const right = [0, 1].map((i) => listed.reduce((total, v) => total + v[i]!, 0));
    for (const [i, expected] of solvedLonghand(system, right).entries())
      expect(values[2 * row + i]!).toBeCloseTo(expected, 4);
  }
});

test("the callback runs before each bounded piece of work, and its error ends the work", async () => {
  const rowCount = 2000;
  const fractions: number[] = [];
  const beforePiece = async (fraction: number) => {
    fractions.push(fraction);
    if (fractions.length === 3) throw new Error("enough");
  };
  const start = Uint32Array.from({ length: rowCount + 1 }, (_, row) => row);
  const wide = { rows: 1, columns: 100, values: new Float32Array(100).fill(0.1) };
  const work = solvedRows(partnersOf(start, new Uint32Array(rowCount)), wide, { ...settings, beforePiece });
  await expect(work).rejects.toThrow("enough");
  expect(fractions[0]).toBe(0);
  expect(fractions[1]! * rowCount * 100 ** 3).toBeLessThan(1e9);
  expect(fractions[2]!).toBeGreaterThan(fractions[1]!);
});
