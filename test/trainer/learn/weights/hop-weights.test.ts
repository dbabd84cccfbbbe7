import ortNode from "onnxruntime-node";
import ortWeb from "onnxruntime-web/wasm";
import { expect, test } from "vitest";
import { graphBuilder } from "../../../../trainer/learn/numerics/onnx/graph.ts";
import { fileBox } from "../../../../trainer/learn/scoring/scoring-graph.ts";
import { hopScores } from "../../../../trainer/learn/weights/hop-scores.ts";
import { encodeHops, hopBytes } from "../../../../trainer/learn/weights/hop-weights.ts";
import { sparseBuilder } from "../../../../trainer/learn/weights/sparse-builder.ts";
import { encodeWithin, leastBytes } from "../../../../trainer/learn/weights/weight-encoding.ts";
import type { HopWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { addHops } from "../../../fixtures/reference-scores.ts";

/** Everybody chose item 1; the last item has no users, and every seventh user has no items. */
function drawnHops(itemCount: number, userCount: number): HopWeights {
  const users = sparseBuilder(userCount, itemCount);
  for (let user = 0; user < userCount; user++) {
    const others = user % 7 === 0 ? [] : [1, 2 + ((user * 31) % (itemCount - 3))];
    for (const item of others) users.add(item, 1);
    users.endRow();
  }
  return {
    kind: "hops",
    rowCount: itemCount,
    columnCount: itemCount,
    users: users.build(),
    rowFactors: Float32Array.from({ length: itemCount }, (_, i) => 1 / (1 + (i % 3))),
    userFactors: Float32Array.from({ length: userCount }, (_, i) => 1 / (1 + (i % 5))),
    columnFactors: Float32Array.from({ length: itemCount }, (_, i) => 1 / (1 + (i % 5))),
  };
}

function exported(hops: HopWeights, fraction: number) {
  const graph = graphBuilder("hops");
  const box = fileBox(graph, "");
  const [items, weights] = [graph.input("items", "int32", ["L"]), graph.input("weights", "float32", ["L"])];
  const scores = hopScores(graph, { items, weights }, encodeHops(hops, fraction), box.external);
  graph.output("scores", scores, "float32", [hops.columnCount]);
  return { bytes: graph.build(), files: box.files };
}

/** The scores of both runtimes, which must be equal but for rounding. */
async function scoresOf({ bytes, files }: ReturnType<typeof exported>, history: readonly number[]) {
  const all: Float32Array[] = [];
  for (const ort of [ortNode, ortWeb]) {
    const externalData = files.map(({ path, bytes: data }) => ({ path, data }));
    const session = await ort.InferenceSession.create(bytes, { externalData, intraOpNumThreads: 1 });
    const items = new ort.Tensor("int32", Int32Array.from(history), [history.length]);
    const weights = new ort.Tensor("float32", new Float32Array(history.length).fill(2), [history.length]);
    const { scores } = await session.run({ items, weights });
    all.push(scores!.data as Float32Array);
    await session.release();
  }
  expect(largestDifference(all[0]!, all[1]!)).toBeLessThan(1e-3);
  return all[0]!;
}

/** Relative to the largest of the right values. */
function largestDifference(values: Float32Array, right: ArrayLike<number>): number {
  let [largest, difference] = [1, 0];
  for (const [i, value] of values.entries()) {
    largest = Math.max(largest, right[i]!);
    difference = Math.max(difference, Math.abs(value - right[i]!));
  }
  return difference / largest;
}

test.each([
  ["few items and users", 20, 30],
  ["rows longer than those of pruned weights", 20, 3000],
  ["more users and items than two bytes can number", 70_000, 80_000],
])("%s: two hops give the sum over shared users", async (_, itemCount, userCount) => {
  const hops = drawnHops(itemCount, userCount);
  const graph = exported(hops, 1);
  for (const history of [[1], [5, 3], [itemCount - 1], [itemCount - 1, 2, 1]]) {
    const expected = new Float64Array(itemCount);
    for (const item of history) addHops(hops, item, 2, expected);
    const scores = await scoresOf(graph, history);
    expect(largestDifference(scores, expected)).toBeLessThan(1e-3);
  }
});

test("a fraction of the users stands for all, in files of the announced size", async () => {
  const hops = drawnHops(20, 600);
  for (const fraction of [0, 0.25, 0.5, 1]) {
    const { files } = exported(hops, fraction);
    expect(files.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBe(hopBytes(hops, fraction));
  }
  const [all, half] = [await scoresOf(exported(hops, 1), [1]), await scoresOf(exported(hops, 0.5), [1])];
  expect(half[1]! / all[1]!).toBeGreaterThan(0.8);
  expect(half[1]! / all[1]!).toBeLessThan(1.25);
});

test("within a small budget fewer users are kept, and the export says so", () => {
  const part = { matrix: drawnHops(20, 600), rowFactors: undefined };
  const encoded = encodeWithin([part], undefined, 5000);
  expect(encoded.truncation).toMatch(/^[1-9]\d\d of 600 users; 8-bit weights$/);
  expect(leastBytes([part], undefined)).toBeLessThan(1000);
});

test("no more users are kept than a rank call can read", () => {
  const hops = drawnHops(100, 2_000_000);
  expect(encodeHops(hops, 1).toItems.columns.length).toBeLessThan(2_000_100);
});
