import { expect, test } from "vitest";
import { chooseItemHours } from "../../../../trainer/choose/decide/choose-item-hours.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { type Choice, interactionsOf } from "../../../fixtures/repeating-users.ts";

const ITEMS = 100;

/** 300 users try ten items each, within 40 days. Even items go with mornings and odd ones with evenings, if they go with any time. */
function visitors(areTimely: boolean) {
  const random = seededRandom(7);
  const users = Array.from({ length: 300 }, () => {
    const start = 30 * random();
    const items = Array.from({ length: ITEMS }, (_, item) => item).sort(() => random() - 0.5);
    return items.slice(0, 10).map((item, visit): Choice => {
      const isMorning = areTimely ? item % 2 === 0 : random() < 0.5;
      return [item, Math.floor(start + visit) + (isMorning ? 0.25 : 0.75) + 0.1 * random()];
    });
  });
  return interactionsOf(users, ITEMS);
}

async function judged(areTimely: boolean, protocol: "next-item" | "service" | "set") {
  const data = visitors(areTimely);
  const split = planSplit(data, { protocol, seed: 1, includeSeen: false })(data);
  const train = { ...split.train, itemAttributes: [], userAttributes: [] };
  const fitted = await popularity.fit(train, { halfLifeDays: 0 }, fitContext());
  const served = { exported: fitted.export({ weightBytesMax: 1e7 }), historyMax: fitted.historyMax };
  const options = { metric: "ndcg@10", secondsMax: 600, seed: 1, memoryMbMax: 1000 } as const;
  const signal = new AbortController().signal;
  return await chooseItemHours(served, { dataset: data, split }, { ...options, signal, protocol });
}

test.each(["next-item", "service"] as const)(
  "where items have their times, lists by them are better: %s",
  async (protocol) => {
    const found = await judged(true, protocol);
    expect(found!.atThisHour).toBeGreaterThan(1.2 * found!.plain);
  },
);

test("where they have none, or rows are hidden at random, lists do not know them", async () => {
  expect(await judged(false, "service")).toBeUndefined();
  expect(await judged(true, "set")).toBeUndefined();
});
