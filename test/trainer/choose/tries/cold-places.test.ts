import { expect, test } from "vitest";
import { packStrings, stringAt } from "../../../../shared/packed-strings.ts";
import { withColdPlaces } from "../../../../trainer/choose/tries/cold-places.ts";
import { COLD_EVERY_RARE } from "../../../../trainer/learn/attributes/cold-start.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { selectState } from "../../../fixtures/select-state.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const warm = twoTastes({ users: 200, items: 20, perUser: 4 });
/** One item more, which nobody has chosen, like half of the others. */
const shop = {
  ...warm,
  itemCount: 21,
  itemIds: packStrings([...Array.from({ length: 20 }, (_, item) => stringAt(warm.itemIds, item)), "new"]),
  itemAttributes: [
    { name: "isOdd", type: "Boolean" as const, values: Uint8Array.from({ length: 21 }, (_, item) => item % 2) },
  ],
};
const fits: (number | undefined)[] = [];
/** Ranks by popularity, or the other way round, as `isBetter` of how often cold items come says. */
const placing = (isBetter: (coldEvery: number | undefined) => boolean): Method => ({
  name: "placing",
  warm: popularity as Method,
  grid: () => [{ lambda: 1 }],
  cost: () => ({ seconds: 0.1, memoryMb: 1 }),
  fit: async ({ itemCount }, params) => {
    fits.push(params.coldEvery);
    const sign = isBetter(params.coldEvery) ? 1 : -1;
    const bias = Float32Array.from({ length: itemCount }, (_, item) => -item * sign);
    return fittedLinear("placing", params, { itemCount, terms: [], bias });
  },
});
async function gridAfter(method: Method, dataset: typeof warm = shop) {
  fits.length = 0;
  const context = { cutOffs: [5, 10] };
  const state = await selectState(dataset, [popularity as Method, method], { context, metric: "ndcg@5" });
  const methods = await withColdPlaces(state);
  expect(methods.popularity).toBe(state.methods.popularity);
  return methods.placing!.grid(state.validation.train);
}

test("where cold items cost reliably, they come rarely, with every method that places them", async () => {
  expect(await gridAfter(placing((every) => every === COLD_EVERY_RARE))).toEqual([
    { lambda: 1, coldEvery: COLD_EVERY_RARE },
  ]);
});
test("where they cost nothing, they come as usual", async () => {
  expect(await gridAfter(placing(() => true))).toEqual([{ lambda: 1 }]);
  expect(await gridAfter(placing((every) => every === undefined))).toEqual([{ lambda: 1 }]);
  expect(fits).toEqual([undefined, COLD_EVERY_RARE]);
});
test("methods that stand in for others do not decide", async () => {
  const method = placing((every) => every === COLD_EVERY_RARE);
  expect(await gridAfter({ ...method, standsInFor: () => ["other"] })).toEqual([{ lambda: 1 }]);
  expect(fits).toEqual([]);
});
test("without cold items nothing is tried", async () => {
  expect(
    await gridAfter(
      placing(() => true),
      warm,
    ),
  ).toEqual([{ lambda: 1 }]);
  expect(fits).toEqual([]);
});
test("a method that fails is left for the choice to tell", async () => {
  const failing = { ...placing(() => true), fit: () => Promise.reject(new Error("singular")) };
  expect(await gridAfter(failing)).toEqual([{ lambda: 1 }]);
});
