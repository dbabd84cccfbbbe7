import { expect, test } from "vitest";
import { isPrepacked, weightsHeapBytes } from "../../edge/prepacking.ts";

const MB = 2 ** 20;

test.each([
  ["none", [], true, 0],
  ["small ones, twice", [4 * MB, 3 * MB], true, 14 * MB],
  ["many small ones, twice, whatever their sum", Array(10).fill(30 * MB), true, 600 * MB],
  ["at the bound", [32 * MB], true, 64 * MB],
  ["a large one, once", [32 * MB + 1], false, 32 * MB + 1],
  ["a million items of 64 bytes with two numbers each, all once", [64e6, 4e6, 4e6], false, 72e6],
])("%s", (_, sizes, prepacked, bytes) => {
  expect([isPrepacked(sizes), weightsHeapBytes(sizes)]).toEqual([prepacked, bytes]);
});
