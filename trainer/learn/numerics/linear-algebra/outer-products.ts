import ort from "onnxruntime-node";
import { graphBuilder } from "../onnx/graph.ts";
import { integers } from "../onnx/graph-shorthand.ts";
import { openProductSession } from "./gemm.ts";
import type { Matrix } from "./matrix.ts";

/** Lists of rows of a matrix. All lists have the same length. */
export type RowLists = { readonly count: number; readonly length: number; readonly rows: Int32Array }; // [count * length]

/** Sums of outer products over hundreds of lists in one call, because a call for each costs more than its arithmetic. */
export type OuterProducts = {
  /** For each list, Σ v vᵀ [count, columns, columns] and Σ v [count, columns] over its rows v of `from`. */
  sums(from: Matrix, lists: RowLists): Promise<{ readonly products: Float32Array; readonly vectors: Float32Array }>;
  close(): Promise<void>;
};

export async function openOuterProducts(): Promise<OuterProducts> {
  const graph = graphBuilder("outer_products");
  const from = graph.input("from", "float32", ["rows", "columns"]);
  const lists = graph.input("lists", "int32", ["count", "length"]);
  const gathered = graph.op("Gather", [from, lists], { axis: { int: 0 } });
  const transposed = graph.op("Transpose", [gathered], { perm: { ints: [0, 2, 1] } });
  graph.output("products", graph.op("MatMul", [transposed, gathered]), "float32", ["count", "columns", "columns"]);
  const vectors = graph.op("ReduceSum", [gathered, integers(graph, 1)], { keepdims: { int: 0 } });
  graph.output("vectors", vectors, "float32", ["count", "columns"]);
  const session = await openProductSession(graph.build());
  return {
    async sums({ rows, columns, values }, { count, length, rows: listed }) {
      const results = await session.run({
        from: new ort.Tensor("float32", values, [rows, columns]),
        lists: new ort.Tensor("int32", listed, [count, length]),
      });
      return { products: results.products!.data as Float32Array, vectors: results.vectors!.data as Float32Array };
    },
    close: () => session.release(),
  };
}
