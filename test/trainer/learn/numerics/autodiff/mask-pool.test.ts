import { expect, test } from "vitest";
import { maskPool } from "../../../../../trainer/learn/numerics/autodiff/mask-pool.ts";

/** A small linear congruential generator (Numerical Recipes). */
function seeded(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("masks keep the expected value and drop the asked share", () => {
  const mask = maskPool(0.2, { sizeMax: 100_000, random: seeded(1) })(100_000);
  const dropped = mask.filter((factor) => factor === 0).length / mask.length;
  const mean = mask.reduce((sum, factor) => sum + factor, 0) / mask.length;
  expect(dropped).toBeCloseTo(0.2, 1);
  expect(mean).toBeCloseTo(1, 1);
  expect(new Set(mask)).toEqual(new Set([0, 1.25]));
});

test("two masks differ, two pools of one seed do not", () => {
  const once = maskPool(0.5, { sizeMax: 64, random: seeded(2) });
  const again = maskPool(0.5, { sizeMax: 64, random: seeded(2) });
  const first = once(64);
  expect(once(64)).not.toEqual(first);
  expect(again(64)).toEqual(first);
});
