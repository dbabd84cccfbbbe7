import ort from "onnxruntime-node";
import { graphBuilder } from "../onnx/graph.ts";
import type { Matrix } from "./gemm.ts";
import { openProductSession } from "./product-session.ts";

/** Lists of rows of a matrix, all of one length: [count * length], list by list. */
export type RowLists = { readonly count: number; readonly length: number; readonly rows: Int32Array };

/** Sums over lists of rows, hundreds of lists in one call: a call for each costs more than its arithmetic. */
export type OuterProducts = {
  /** Of each list Σ v vᵀ, [count, columns, columns], and Σ v, [count, columns], over its rows v of `from`. */
  sums(from: Matrix, lists: RowLists): Promise<{ readonly products: Float32Array; readonly vectors: Float32Array }>;
  close(): Promise<void>;
};

export async function openOuterProducts(): Promise<OuterProducts> {
  const graph = graphBuilder("outer_products");
  const from = graph.input("from", "float32", ["rows", "columns"]);
  const lists = graph.input("lists", "int32", ["count", "length"]);
  const gathered = graph.op("Gather", [from, lists], { axis: { int: 0 } });
  const turned = graph.op("Transpose", [gathered], { perm: { ints: [0, 2, 1] } });
  graph.output("products", graph.op("MatMul", [turned, gathered]), "float32", ["count", "columns", "columns"]);
  const second = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(1n) });
  const vectors = graph.op("ReduceSum", [gathered, second], { keepdims: { int: 0 } });
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
