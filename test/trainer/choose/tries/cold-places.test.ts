import { expect, test } from "vitest";
import { packStrings, stringAt } from "../../../../shared/packed-strings.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { withColdPlaces } from "../../../../trainer/choose/tries/cold-places.ts";
import { runTrial } from "../../../../trainer/choose/tries/trial.ts";
import type { SelectState } from "../../../../trainer/choose/tries/try-methods.ts";
import { COLD_EVERY_RARE } from "../../../../trainer/learn/attributes/cold-start.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const context = { ...TRIAL_CONTEXT, cutOffs: [5, 10] };
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
  placesColdItems: true,
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
  const plan = planSplit(dataset, { protocol: "next-item", seed: 1, includeSeen: false });
  const validation = validationOf(dataset, plan, 0, 1);
  const { train: data, split, positions } = validation;
  const task = { data, cases: split.cases, positions, trainFraction: 1, secondsMax: 9, secondsHard: 900 };
  const state: SelectState = {
    methods: { popularity: popularity as Method, placing: method },
    live: undefined,
    context,
    metric: "ndcg@5",
    validation,
    baseline: await runTrial({ method: popularity as Method, params: { halfLifeDays: 0 } }, task, context),
    secondsMax: 1000,
    secondsLeft: () => 1000,
    discarded: [],
  };
  const methods = await withColdPlaces(state);
  expect(methods.popularity).toBe(state.methods.popularity);
  return methods.placing!.grid(data);
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
