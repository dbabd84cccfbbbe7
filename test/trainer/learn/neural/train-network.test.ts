import { expect, test } from "vitest";
import { trainNetwork } from "../../../../trainer/learn/neural/train-network.ts";
import { type Histories, positiveHistories } from "../../../../trainer/learn/statistics/histories.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

test("a network is made from histories without the entries that decide when its training stops", async () => {
  const all = Array.from({ length: 90 }, (_, user) => [user % 7, 7, 8 + (user % 3)]);
  let given: Histories | undefined;
  let ends: Uint32Array | undefined;
  await trainNetwork<never>(positiveHistories(trainingData(11, all)), fitContext(), (_, learnt) => {
    given = learnt;
    return {
      parameters: new Map(),
      length: 3,
      batches: (upTo) => {
        ends = upTo;
        return [];
      },
      compileStep: () => Promise.reject(new Error("Without batches nothing is compiled.")),
      openScorer: () => Promise.reject(new Error("Without batches nothing is scored.")),
      plan: () => ({ epochs: 1, learningRate: 1, warmupSteps: 1, averagedSteps: 1, patience: 1 }),
    };
  });
  const lengths = Array.from(all.keys(), (user) => given!.start[user + 1]! - given!.start[user]!);
  expect(new Set(lengths)).toEqual(new Set([2, 3]));
  expect(lengths).toEqual(Array.from(all.keys(), (user) => ends![user]! - 3 * user));
  for (const [user, own] of all.entries())
    expect([...given!.items.subarray(given!.start[user], given!.start[user + 1])]).toEqual(own.slice(0, lengths[user]));
});
