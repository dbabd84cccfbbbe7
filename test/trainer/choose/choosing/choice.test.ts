import { expect, test } from "vitest";
import { isSameChoice } from "../../../../trainer/choose/choosing/choice.ts";

const one = { method: "ease", params: { a: 1, b: 2 } };

test("equal settings in any order are one choice", () =>
  expect(isSameChoice(one, { method: "ease", params: { b: 2, a: 1 } })).toBe(true));
test.each([
  [undefined],
  [{ method: "item_knn", params: { a: 1, b: 2 } }],
  [{ method: "ease", params: { a: 1 } }],
  [{ method: "ease", params: { a: 1, b: 2, c: 0 } }],
  [{ method: "ease", params: { a: 1, b: 3 } }],
])("%j is another", (other) => expect(isSameChoice(one, other)).toBe(false));
