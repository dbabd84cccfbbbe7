import { expect, test } from "vitest";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

test("two blocks have an item table, twelve matrices, two distance tables, ten biases and five gains", () => {
  const shape = { itemCount: 7, length: 5, width: 4, blocks: 2, heads: 2 };
  const parameters = freshParameters(shape, fitContext().random);
  const dims = [...parameters].map(([name, { dims }]) => `${name.replace(/^block\d\./, "")} ${dims.join("x")}`);
  const count = (text: string) => dims.filter((dim) => dim.endsWith(text)).length;
  expect(dims[0]).toBe("item_table 7x4");
  expect(count(" 4x4")).toBe(12);
  expect(count("distance_bias 5x2")).toBe(2);
  expect(count("_bias 4")).toBe(10);
  expect(count(".gain 4")).toBe(5);
});
