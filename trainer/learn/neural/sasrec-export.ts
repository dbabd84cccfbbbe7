import type { GraphPart, PartBudget } from "../model.ts";
import { newTape } from "../numerics/autodiff/tape.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import type { Averages } from "./averages.ts";
import { newestEntries, serveItems } from "./item-matrix.ts";
import { ITEM_TABLE } from "./sasrec-graph.ts";
import { NO_DROPOUT, type TransformerShape, transformer } from "./transformer.ts";

/** Adds the trained network to a scoring graph: item vectors as files beside the graph, all other parameters inside it. */
export function appendSasrec(
  graph: GraphBuilder,
  items: string,
  { shape, parameters }: { readonly shape: TransformerShape; readonly parameters: Averages },
  budget: PartBudget,
): GraphPart {
  const { itemCount, width, length } = shape;
  const newest = newestEntries(graph, items, length);
  const served = serveItems(graph, { itemCount, width, values: parameters.get(ITEM_TABLE)!.value }, budget);
  const tape = newTape(graph, (name, dims) =>
    graph.constant({ type: "float32", dims: dims as readonly number[], data: parameters.get(name)!.value }),
  );
  const size = graph.op("Concat", [integers(graph, 1), graph.op("Shape", [newest])], { axis: { int: 0 } });
  const vectors = tape.constant(served.rowsOf(newest));
  const hidden = transformer(tape, shape, { vectors, size, masks: NO_DROPOUT });
  const last = graph.op("Gather", [hidden.value, integers(graph, -1)]);
  return { scores: served.scoresOf(last), weights: served.files, truncation: served.truncation };
}

/** Values by position of one history and column, row-major. */
type Matrix = Float32Array; // [length * width]

/**
 * The reference: the network in plain loops, without any graph. Tests compare the trained and the exported network with it.
 *
 * @param items Item indices, oldest first; 1 to shape.length of them.
 * @returns Scores. [itemCount]
 */
export function sasrecScores(shape: TransformerShape, parameters: Averages, items: readonly number[]): Float32Array {
  const { itemCount, width, blocks } = shape;
  const table = parameters.get(ITEM_TABLE)!.value;
  const values = (name: string) => parameters.get(name)!.value;
  let x = new Float32Array(items.length * width);
  for (const [at, item] of items.entries()) {
    for (let i = 0; i < width; i++) x[at * width + i] = table[item * width + i]! * Math.sqrt(width);
  }
  for (let block = 0; block < blocks; block++) {
    const named = (name: string) => values(`block${block}.${name}`);
    const noBias = new Float32Array(width);
    const project = (from: Matrix, name: string) => product(from, named(name), named(`${name}_bias`));
    const normal = (name: string) => normalised(x, named(`${name}.gain`), named(`${name}.bias`));
    const before = normal("before_attention");
    const [queries, rows] = [project(before, "query"), project(before, "value")];
    const keys = product(before, named("key"), noBias);
    const attended = attendCausally({ queries, keys, rows, distanceBias: named("distance_bias") }, shape);
    x = sum(x, project(attended, "output"));
    const inner = project(normal("before_feed_forward"), "inner").map((value) => Math.max(0, value));
    x = sum(x, project(inner, "outer"));
  }
  const last = normalised(x, values("last.gain"), values("last.bias")).subarray(-width);
  const scores = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    let score = 0;
    for (let i = 0; i < width; i++) score += last[i]! * table[item * width + i]!;
    scores[item] = score;
  }
  return scores;
}

type Attending = { queries: Matrix; keys: Matrix; rows: Matrix; distanceBias: Float32Array };

function attendCausally({ queries, keys, rows, distanceBias }: Attending, { width, heads }: TransformerShape): Matrix {
  const output = new Float32Array(queries.length);
  const headSize = width / heads;
  for (let head = 0; head < heads; head++) {
    for (let at = 0; at * width < queries.length; at++) {
      const from = at * width + head * headSize;
      const weights = new Float64Array(at + 1);
      for (let key = 0; key <= at; key++) {
        let score = 0;
        for (let i = 0; i < headSize; i++) score += queries[from + i]! * keys[key * width + head * headSize + i]!;
        weights[key] = score / Math.sqrt(headSize) + distanceBias[(at - key) * heads + head]!;
      }
      softmaxInPlace(weights);
      for (let key = 0; key <= at; key++) {
        for (let i = 0; i < headSize; i++) {
          output[from + i] = output[from + i]! + weights[key]! * rows[key * width + head * headSize + i]!;
        }
      }
    }
  }
  return output;
}

function softmaxInPlace(values: Float64Array): void {
  const largest = values.reduce((a, b) => Math.max(a, b));
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i] = Math.exp(values[i]! - largest);
  for (let i = 0; i < values.length; i++) values[i] = values[i]! / total;
}

/** x w + b, with a square weight matrix. */
function product(x: Matrix, weight: Float32Array, bias: Float32Array): Matrix {
  const width = bias.length;
  const output = new Float32Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    for (let column = 0; column < width; column++) {
      let total = bias[column]!;
      for (let i = 0; i < width; i++) total += x[row + i]! * weight[i * width + column]!;
      output[row + column] = total;
    }
  }
  return output;
}

function normalised(x: Matrix, gain: Float32Array, bias: Float32Array): Matrix {
  const width = gain.length;
  const output = new Float32Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let mean = 0;
    for (let i = 0; i < width; i++) mean += x[row + i]! / width;
    let variance = 0;
    for (let i = 0; i < width; i++) variance += (x[row + i]! - mean) ** 2 / width;
    const inverse = 1 / Math.sqrt(variance + 1e-5);
    for (let i = 0; i < width; i++) output[row + i] = (x[row + i]! - mean) * inverse * gain[i]! + bias[i]!;
  }
  return output;
}

const sum = (a: Matrix, b: Matrix): Float32Array<ArrayBuffer> => Float32Array.from(a, (value, i) => value + b[i]!);
