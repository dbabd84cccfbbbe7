import { expect, test } from "vitest";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { sasrecScores } from "../../../../trainer/learn/neural/forward.ts";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const SHAPE = { itemCount: 3, length: 4, width: 2, blocks: 0, heads: 1 };

test("without blocks: the normalised vector of the newest item, times every item's", () => {
  const parameters = averagesOf(freshParameters(SHAPE, fitContext().random));
  parameters.get("item_table")!.value.set([1, 0, 0, 1, 3, 1]);
  // (3, 1)·√2 has mean 2√2 and deviation √2: it becomes (1, −1), but for ε.
  const scores = sasrecScores(SHAPE, parameters, [0, 2]);
  expect(scores[0]).toBeCloseTo(1, 4);
  expect(scores[1]).toBeCloseTo(-1, 4);
  expect(scores[2]).toBeCloseTo(2, 4);
});

test("what came before matters, and so does its order", () => {
  const shape = { ...SHAPE, itemCount: 6, width: 4, blocks: 1 };
  const { random } = fitContext(2);
  const fresh = freshParameters(shape, random);
  for (const { value } of fresh.values()) for (let i = 0; i < value.length; i++) value[i] = value[i]! + random();
  const parameters = averagesOf(fresh);
  const scores = sasrecScores(shape, parameters, [1, 2, 3]);
  expect(sasrecScores(shape, parameters, [2, 1, 3])).not.toEqual(scores);
  expect(sasrecScores(shape, parameters, [3])).not.toEqual(scores);
});
