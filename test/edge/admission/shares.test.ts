import { expect, test } from "vitest";
import { createShares } from "../../../edge/admission/shares.ts";

test("one holder has no more than its part, all together no more than there is, and what is given back is there again", () => {
  const shares = createShares({ total: 5, each: 3 }, 1000);
  const taken = (holder: string) => shares.take(holder, 0) !== undefined;
  const giveBack = shares.take("a", 0)!;
  expect([taken("a"), taken("a"), taken("a")]).toEqual([true, true, false]);
  expect([taken("b"), taken("b"), taken("c"), shares.count(0)]).toEqual([true, true, false, 5]);
  giveBack();
  giveBack();
  expect([shares.count(0), taken("c"), taken("a")]).toEqual([4, true, false]);
});

test("who never gives back has nothing any more after a while", () => {
  const shares = createShares({ total: 1, each: 1 }, 1000);
  expect(shares.take("a", 0)).toBeDefined();
  expect(shares.take("b", 999)).toBeUndefined();
  expect(shares.take("b", 1001)).toBeDefined();
});

test("holders who are gone are forgotten", () => {
  const shares = createShares({ total: 1, each: 1 }, 10);
  for (let i = 0; i < 3000; i++) expect(shares.take(`holder-${i}`, 20 * i)).toBeDefined();
});
