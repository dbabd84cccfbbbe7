import { expect, test } from "vitest";
import { type JudgedPool, learnShares } from "../../../../trainer/learn/neural/blend-shares.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const ITEMS = 50;

/** Entries chosen with the chances softmax(sharpness · (first + share · second)), scores being noise. */
function pools(count: number, { share, sharpness }: { share: number; sharpness: number }): JudgedPool[] {
  const { random } = fitContext(3);
  return Array.from({ length: count }, () => {
    const scores = [0, 1].map(() => Float32Array.from({ length: ITEMS }, () => 3 * (random() + random() - 1)));
    const chances = scores[0]!.map((score, i) => Math.exp(sharpness * (score + share * scores[1]![i]!)));
    let left = random() * chances.reduce((sum, chance) => sum + chance, 0);
    let target = 0;
    while (target < ITEMS - 1 && left > chances[target]!) left -= chances[target++]!;
    return { scores, target };
  });
}

test.each([
  [0.4, 1],
  [1.6, 1],
  [0.4, 4],
  [0.1, 6],
])("entries chosen with a share of %d at sharpness %d give it back", (share, sharpness) => {
  expect(learnShares(pools(4000, { share, sharpness }), 2)).toEqual([1, share]);
});

test("a part that says nothing has no share", () => {
  const learnt = learnShares(pools(2000, { share: 0, sharpness: 3 }), 2);
  expect(learnt[1]).toBeLessThanOrEqual(0.025);
});

test("without anything held out every further part has a trace", () => {
  expect(learnShares([], 3)).toEqual([1, 0.05, 0.05]);
});
