import fc from "fast-check";
import * as ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { graphBuilder } from "../../../../trainer/learn/numerics/onnx/graph.ts";
import { fileBox } from "../../../../trainer/learn/scoring/scoring-graph.ts";
import { blocksOf, serveBytes } from "../../../../trainer/learn/weights/byte-matrix.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const width = 8;

/** Rows of some items, and the scores of all items for a vector, from the graph. */
async function serve(itemCount: number, values: Float32Array, items: readonly number[], vector: Float32Array) {
  const graph = graphBuilder("items");
  const { rowsOf, scoresOf, files } = serveBytes(graph, { itemCount, width, values }, fileBox(graph, ""));
  graph.output("rows", rowsOf(graph.input("items", "int32", ["L"])), "float32", null);
  graph.output("scores", scoresOf(graph.input("vector", "float32", [1, width])), "float32", [itemCount]);
  const session = await ort.InferenceSession.create(graph.build(), {
    externalData: files.map(({ path, bytes }) => ({ path, data: bytes })),
  });
  const { rows, scores } = await session.run({
    items: new ort.Tensor("int32", Int32Array.from(items), [items.length]),
    vector: new ort.Tensor("float32", vector, [1, width]),
  });
  await session.release();
  return { rows: rows!.data as Float32Array, scores: scores!.data as Float32Array };
}

test("rows and scores are those of the matrix to half a step of a byte, for any number of blocks", async () => {
  const itemCounts = fc.oneof(
    fc.constantFrom(1, 2, 511, 512, 513, 1023, 1024, 1025, 1537),
    fc.integer({ min: 1, max: 2600 }),
  );
  await fc.assert(
    fc.asyncProperty(itemCounts, fc.integer({ min: 1, max: 1e6 }), async (itemCount, seed) => {
      const { random } = fitContext(seed);
      const values = Float32Array.from({ length: itemCount * width }, () => random() - 0.5);
      const vector = Float32Array.from({ length: width }, () => random() - 0.5);
      const items = [0, itemCount - 1, Math.floor(itemCount / 2), Math.floor(random() * itemCount)];
      const { rows, scores } = await serve(itemCount, values, items, vector);
      expect(scores.length).toBe(itemCount);
      for (const [i, item] of items.entries()) {
        const row = values.subarray(item * width, (item + 1) * width);
        const step = Math.max(...row.map(Math.abs)) / 127;
        for (let j = 0; j < width; j++) expect(Math.abs(rows[i * width + j]! - row[j]!)).toBeLessThan(0.51 * step);
      }
      const errors = Float64Array.from({ length: itemCount }, (_, item) => {
        const row = values.subarray(item * width, (item + 1) * width);
        return Math.abs(scores[item]! - row.reduce((sum, value, j) => sum + value * vector[j]!, 0));
      });
      expect(Math.max(...errors)).toBeLessThan(0.02);
    }),
    { numRuns: 25 },
  );
});

test.each([
  [1, 1],
  [511, 511],
  [512, 512],
  [513, 640],
  [1000, 1024],
  [12_101, 12_288],
  [999_999, 1_000_448],
])("%i items are stored in blocks of at most 512 items, %i with padding", (itemCount, room) => {
  const { blocks, blockItems, padded } = blocksOf(itemCount);
  expect([padded, blocks * blockItems]).toEqual([room, room]);
  expect(blockItems).toBeLessThanOrEqual(512);
});
