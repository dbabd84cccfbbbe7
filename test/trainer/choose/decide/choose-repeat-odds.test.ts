import { expect, test } from "vitest";
import { chooseRepeatOdds } from "../../../../trainer/choose/decide/choose-repeat-odds.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { sequentialRidge } from "../../../../trainer/learn/sequential-ridge.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { type Choice, interactionsOf, REPEATED_ITEMS, repeatingUsers } from "../../../fixtures/repeating-users.ts";

const OPTIONS = {
  metric: "ndcg@10",
  ...{ secondsMax: 600, seed: 1, memoryMbMax: 1000 },
  signal: new AbortController().signal,
} as const;

async function chosenFor(data: Interactions, method: Method, protocol: "next-item" | "set" = "next-item") {
  const split = planSplit(data, { protocol, seed: 1, includeSeen: false })(data);
  const train = { ...split.train, itemAttributes: [], userAttributes: [] };
  const fitted = await method.fit(train, method.grid(train)[0]!, fitContext());
  const served = { exported: fitted.export({ weightBytesMax: 1e7 }), historyMax: fitted.historyMax };
  return await chooseRepeatOdds(served, { dataset: data, split }, { ...OPTIONS, protocol });
}

/** Users who go from each of 40 items to one of two, and so meet all of them again and again. */
function wanderers(count: number): Choice[][] {
  const random = seededRandom(3);
  const next = Array.from({ length: REPEATED_ITEMS }, () => [0, 1].map(() => Math.floor(REPEATED_ITEMS * random())));
  return Array.from({ length: count }, () => {
    let item = Math.floor(REPEATED_ITEMS * random());
    return Array.from({ length: 40 }, (_, day): Choice => {
      item = next[item]![random() < 0.5 ? 0 : 1]!;
      return [item, day];
    });
  });
}

test("where users need things again, odds make lists of a model that does not know it better", async () => {
  const found = await chosenFor(interactionsOf(repeatingUsers(250, 1), REPEATED_ITEMS), popularity as Method);
  expect(found!.joined).toBeGreaterThan(1.1 * found!.plain);
  expect(found!.odds.places).toHaveLength(9);
});

test("where a model knows better what comes next, there are no odds", async () => {
  const data = interactionsOf(wanderers(250), REPEATED_ITEMS);
  expect(await chosenFor(data, sequentialRidge as Method)).toBeUndefined();
});

test("neither for rows that are hidden at random, nor where nothing is chosen again", async () => {
  const data = interactionsOf(repeatingUsers(250, 1), REPEATED_ITEMS);
  expect(await chosenFor(data, popularity as Method, "set")).toBeUndefined();
  const once = Array.from({ length: 250 }, (_, user) =>
    Array.from({ length: 20 }, (_, day): Choice => [(user + 7 * day) % REPEATED_ITEMS, day]),
  );
  expect(await chosenFor(interactionsOf(once, REPEATED_ITEMS), popularity as Method)).toBeUndefined();
});
