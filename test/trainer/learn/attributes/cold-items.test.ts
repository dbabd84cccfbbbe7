import { expect, test } from "vitest";
import { coldCost, coldItems, coldScorer } from "../../../../trainer/learn/attributes/cold-items.ts";
import type { TrainingData } from "../../../../trainer/learn/model.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";

const data = twoAisles();

test("cold items are items that nobody chose and whose attributes other items share", () => {
  expect([...coldItems(data)]).toEqual([22, 23]);
  expect([...coldItems(checkerboard(4))]).toEqual([]);
  expect([...coldItems({ ...data, itemAttributes: [] })]).toEqual([]);
});

test("the scorer is learnt once for the same data, and again for other data", async () => {
  expect(coldCost(data)).toMatchObject({ isPaid: false });
  const scorer = await coldScorer(data, fitContext());
  expect(await coldScorer(data, fitContext())).toBe(scorer);
  expect(coldCost(data)).toMatchObject({ isPaid: true });
  const others = { ...data, positive: data.positive.map((positive, row) => (data.items[row] === 21 ? 0 : positive)) };
  expect([...coldItems(others)]).toEqual([21, 22, 23]);
  expect(coldCost(others)).toMatchObject({ isPaid: false });
  expect(await coldScorer(others, fitContext())).not.toBe(scorer);
});

test("an aborted fit caches nothing", async () => {
  const fresh = { ...data };
  const context = { ...fitContext(), signal: AbortSignal.abort(new Error("stopped")) };
  await expect(coldScorer(fresh, context)).rejects.toThrow("stopped");
  expect(coldCost(fresh)).toMatchObject({ isPaid: false });
});

test("no cold items cost nothing; half of 20,000 items with 4,000 words cost half a minute", () => {
  expect(coldCost(checkerboard(4))).toBeUndefined();
  const [itemCount, words] = [20_000, 4000];
  const cost = coldCost({
    ...data,
    itemCount,
    items: Int32Array.from({ length: itemCount / 2 }, (_, item) => item),
    positive: new Uint8Array(itemCount / 2).fill(1),
    itemAttributes: [
      {
        name: "word",
        type: "Category",
        dictionary: Array.from({ length: words }, (_, word) => `w${word}`),
        start: Uint32Array.from({ length: itemCount + 1 }, (_, i) => i),
        codes: Uint32Array.from({ length: itemCount }, (_, item) => item % words),
      },
    ],
  } as TrainingData)!;
  expect(cost.seconds).toBeGreaterThan(25);
  expect(cost.seconds).toBeLessThan(35);
  expect(cost.memoryMb).toBeGreaterThan(350);
  expect(cost.memoryMb).toBeLessThan(700);
});
