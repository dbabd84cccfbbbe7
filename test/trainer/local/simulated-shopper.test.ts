import { expect, test } from "vitest";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { makeTaste } from "../../../trainer/local/demo-tastes.ts";
import { actionsOn } from "../../../trainer/local/simulated-shopper.ts";

const SHOPPERS = 4000;
const taste = makeTaste(seededRandom(1));
const liked = { category: taste.categories[0]!, brand: taste.brands[0]!, style: taste.style, price: 60 };
const item = (metadata: typeof liked, item_id = 1) => ({ item_id, metadata });

/** How many of the shoppers do this with a list. */
function countOf(type: "view" | "purchase", items: Parameters<typeof actionsOn>[0]): number {
  const random = seededRandom(2);
  const visits = Array.from({ length: SHOPPERS }, () => actionsOn(items, { taste, random }));
  return visits.filter((actions) => actions.some((action) => action.type === type)).length;
}

test("items of the shopper's taste are viewed and bought more often, and cheap ones bought more often than dear ones", () => {
  const strange = { ...liked, category: "Nothing", brand: "Nobody", style: "odd" };
  const halfLiked = { ...liked, style: "odd" };
  const views = [strange, halfLiked, liked].map((metadata) => countOf("view", [item(metadata)]));
  expect(views[1]!).toBeGreaterThan(2 * views[0]!);
  expect(views[2]!).toBeGreaterThan(2 * views[1]!);
  const purchases = [200, 60, 15].map((price) => countOf("purchase", [item({ ...liked, price })]));
  expect(purchases[1]!).toBeGreaterThan(1.3 * purchases[0]!);
  expect(purchases[2]!).toBeGreaterThan(1.3 * purchases[1]!);
});

test("a list is looked at from the top, and left with a purchase", () => {
  const list = Array.from({ length: 20 }, (_, i) => item(liked, i));
  const random = seededRandom(3);
  const counts = list.map(() => 0);
  for (let visit = 0; visit < SHOPPERS; visit++) {
    const actions = actionsOn(list, { taste, random });
    for (const { item_id, type } of actions) if (type === "view") counts[Number(item_id)]!++;
    const bought = actions.findIndex(({ type }) => type === "purchase");
    if (bought === -1) continue;
    expect(bought).toBe(actions.length - 1);
    expect(actions[bought - 1]).toEqual({ item_id: actions[bought]!.item_id, type: "view" });
  }
  expect(counts[0]!).toBeGreaterThan(2 * counts[3]!);
});

test("where little is bought, shoppers still stop looking somewhere", () => {
  const dear = Array.from({ length: 20 }, (_, i) => item({ ...liked, price: 1e9 }, i));
  const random = seededRandom(4);
  const seen = Array.from({ length: SHOPPERS }, () => actionsOn(dear, { taste, random })).flat();
  const countAt = (place: number) => seen.filter(({ item_id }) => item_id === place).length;
  expect(countAt(10) / countAt(0)).toBeGreaterThan(0.25); // 0.9 ** 10 is 0.35
  expect(countAt(10) / countAt(0)).toBeLessThan(0.45);
});
