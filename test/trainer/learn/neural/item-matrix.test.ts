import * as ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { newestEntries, serveItems } from "../../../../trainer/learn/neural/item-matrix.ts";
import { graphBuilder } from "../../../../trainer/learn/numerics/onnx/graph.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const [itemCount, width] = [50, 16];
const { random } = fitContext();
const anyValues = Float32Array.from({ length: itemCount * width }, () => random() - 0.5);
const vector = Float32Array.from({ length: width }, () => random() - 0.5);

/** Rows of two items, and the scores of all items for a vector, from the graph. */
async function serve(weightBytesMax: number, values = anyValues) {
  const graph = graphBuilder("items");
  const served = serveItems(graph, { itemCount, width, values }, { weightBytesMax, prefix: "" });
  graph.output("rows", served.rowsOf(graph.input("items", "int32", ["L"])), "float32", null);
  graph.output("scores", served.scoresOf(graph.input("vector", "float32", [1, width])), "float32", [itemCount]);
  const session = await ort.InferenceSession.create(graph.build(), {
    externalData: served.files.map(({ path, bytes }) => ({ path, data: bytes })),
  });
  const { rows, scores } = await session.run({
    items: new ort.Tensor("int32", Int32Array.of(7, 3), [2]),
    vector: new ort.Tensor("float32", vector, [1, width]),
  });
  await session.release();
  const size = served.files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return { rows: rows!.data as Float32Array, scores: scores!.data as Float32Array, size, ...served };
}

const expectedRows = [...anyValues.subarray(7 * width, 8 * width), ...anyValues.subarray(3 * width, 4 * width)];
const scoresFrom = (values: Float32Array) =>
  Array.from({ length: itemCount }, (_, item) =>
    vector.reduce((sum, value, i) => sum + value * values[item * width + i]!, 0),
  );
const expectedScores = scoresFrom(anyValues);

test("within a large budget vectors are float32: rows are exact, scores right to 1e-6", async () => {
  const { rows, scores, truncation, size } = await serve(1e6);
  expect([...rows]).toEqual(expectedRows);
  for (const [item, score] of expectedScores.entries()) expect(scores[item]).toBeCloseTo(score, 6);
  expect([truncation, size]).toEqual(["", 4 * itemCount * width]);
});

test("over that budget vectors are bytes with a scale per item: rows right to 1/250, scores to 1 %", async () => {
  const { rows, scores, truncation, size } = await serve(4 * itemCount * width - 1);
  for (const [i, value] of expectedRows.entries()) expect(Math.abs(rows[i]! - value)).toBeLessThan(0.5 / 250);
  const largest = Math.max(...expectedScores.map(Math.abs));
  for (const [i, score] of expectedScores.entries()) expect(Math.abs(scores[i]! - score) / largest).toBeLessThan(0.01);
  expect(truncation).toMatch(/int8/);
  expect(size).toBe(itemCount * width + 4 * itemCount);
});

test("over that budget leading directions are kept, nearly exact for vectors of as many dimensions", async () => {
  const directions = Array.from({ length: 3 * width }, () => random() - 0.5);
  const flat = new Float32Array(itemCount * width);
  for (let item = 0; item < itemCount; item++) {
    const weights = [random() - 0.5, random() - 0.5, random() - 0.5];
    for (let i = 0; i < width; i++)
      flat[item * width + i] = weights.reduce((sum, weight, d) => sum + weight * directions[d * width + i]!, 0);
  }
  const weightBytesMax = itemCount * (4 + 3) + 10;
  const { rows, scores, truncation, size } = await serve(weightBytesMax, flat);
  expect(size).toBe(itemCount * (4 + 3));
  expect(truncation).toMatch(/int8 in 3 of 16 dimensions, which hold 100\.0 %/);
  const largest = Math.max(...scoresFrom(flat).map(Math.abs));
  for (const [i, score] of scoresFrom(flat).entries())
    expect(Math.abs(scores[i]! - score) / largest).toBeLessThan(0.02);
  for (let i = 0; i < width; i++) expect(rows[i]).toBeCloseTo(flat[7 * width + i]!, 1);
});

test("a budget below one number per item is refused, with the size that is needed", async () => {
  await expect(serve(itemCount * 5 - 1)).rejects.toThrow(
    "The vectors of 50 items need at least 0.000250 MB, but the budget allows 0.000249 MB",
  );
});

test.each([
  [2, [7, 8, 9], [8, 9]],
  [5, [7, 8, 9], [7, 8, 9]],
])("the newest %i of %j are %j", async (count, history, expected) => {
  const graph = graphBuilder("newest");
  graph.output("newest", newestEntries(graph, graph.input("items", "int32", ["L"]), count), "int32", ["N"]);
  const session = await ort.InferenceSession.create(graph.build());
  const { newest } = await session.run({ items: new ort.Tensor("int32", Int32Array.from(history), [history.length]) });
  expect([...(newest!.data as Int32Array)]).toEqual(expected);
  await session.release();
});
