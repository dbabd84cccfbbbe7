import { expect, test } from "vitest";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

test("two blocks have an item table, eight square matrices and six wide ones, two distance tables, twelve biases and five gains", () => {
  const shape = { itemCount: 7, length: 5, width: 4, blocks: 2, heads: 2 };
  const parameters = freshParameters(shape, fitContext().random);
  const dims = [...parameters].map(([name, { dims }]) => `${name.replace(/^block\d\./, "")} ${dims.join("x")}`);
  const count = (text: string) => dims.filter((dim) => dim.endsWith(text)).length;
  expect(dims[0]).toBe("item_table 7x4");
  expect(count(" 4x4")).toBe(8);
  expect([count(" 4x12"), count("_bias 12"), count("outer 12x4")]).toEqual([4, 4, 2]);
  expect(count("distance_bias 5x2")).toBe(2);
  expect(count("_bias 4")).toBe(8);
  expect(count(".gain 4")).toBe(5);
});

test("given item vectors are kept at half their length, and zeros become small random numbers", () => {
  const shape = { itemCount: 3, length: 5, width: 2, blocks: 1, heads: 1 };
  const vectors = Float32Array.of(0.6, -0.8, 0, 0, 1, 0);
  const { value } = freshParameters(shape, fitContext().random, { vectors }).get("item_table")!;
  expect([...value.subarray(0, 2), value[4]]).toEqual([Math.fround(0.3), Math.fround(-0.4), 0.5]);
  for (const i of [2, 3, 5]) {
    expect(Math.abs(value[i]!)).toBeLessThan(0.1);
    expect(value[i]).not.toBe(0);
  }
});
