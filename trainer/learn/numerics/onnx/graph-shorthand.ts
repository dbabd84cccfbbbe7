/** Constants and nodes that many graphs contain. */
import type { GraphBuilder, TensorValue } from "./graph.ts";
import { DATA_TYPES, type DataType } from "./proto.ts";

/** The domain of ONNX Runtime's own operators. */
export const MICROSOFT = "com.microsoft";

/** Small tensors; dims [] is a scalar. */
export const int64 = (dims: readonly number[], ...values: number[]): TensorValue => ({
  type: "int64",
  dims,
  data: BigInt64Array.from(values, BigInt),
});
export const int32 = (dims: readonly number[], ...values: number[]): TensorValue => ({
  type: "int32",
  dims,
  data: Int32Array.from(values),
});
export const float32 = (dims: readonly number[], ...values: number[]): TensorValue => ({
  type: "float32",
  dims,
  data: Float32Array.from(values),
});

/** A float32 scalar. */
export const scalar = (graph: GraphBuilder, value: number) => graph.constant(float32([], value));

/** An int64 scalar. */
export const integer = (graph: GraphBuilder, value: number) => graph.constant(int64([], value));

/** An int64 vector: the form of shapes and axes since opset 13. */
export const integers = (graph: GraphBuilder, ...values: readonly number[]) =>
  graph.constant(int64([values.length], ...values));

/** The same numbers in another type. */
export const cast = (graph: GraphBuilder, value: string, type: DataType) =>
  graph.op("Cast", [value], { to: { int: DATA_TYPES[type] } });

/** The entries of `from` at indices of its first axis. */
export const gather = (graph: GraphBuilder, from: string, at: string): string =>
  graph.op("Gather", [from, at], { axis: { int: 0 } });

/** Sums over `axes`, which disappear. */
export const sumOver = (graph: GraphBuilder, value: string, ...axes: readonly number[]) =>
  graph.op("ReduceSum", [value, integers(graph, ...axes)], { keepdims: { int: 0 } });

/** Sums over the last axis, which stays with size 1. */
export const rowSums = (graph: GraphBuilder, value: string) =>
  graph.op("ReduceSum", [value, integers(graph, -1)], { keepdims: { int: 1 } });

/**
 * aᵀ b: [rows, many] and [rows, few] → [many, few], computed as (bᵀ a)ᵀ: the runtime reads a wide matrix along its rows by a
 * fifth to a third faster than along its columns.
 */
export const narrowProduct = (graph: GraphBuilder, a: string, b: string) =>
  graph.op("Transpose", [graph.op("FusedMatMul", [b, a], { transA: { int: 1 } }, MICROSOFT)], {
    perm: { ints: [1, 0] },
  });
