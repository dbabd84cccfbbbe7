import type { GraphBuilder } from "../onnx/graph.ts";
import { DATA_TYPES, type DataType } from "../onnx/proto.ts";

/** Operators of ONNX Runtime's own domain. */
export const MICROSOFT = "com.microsoft";

/** A float32 scalar inside the graph. */
export const scalar = (graph: GraphBuilder, value: number) =>
  graph.constant({ type: "float32", dims: [], data: Float32Array.of(value) });

/** A vector of int64, as shapes and axes are given since opset 13. */
export const integers = (graph: GraphBuilder, ...values: readonly number[]) =>
  graph.constant({ type: "int64", dims: [values.length], data: BigInt64Array.from(values, BigInt) });

/** An int64 scalar. */
export const integer = (graph: GraphBuilder, value: number) =>
  graph.constant({ type: "int64", dims: [], data: BigInt64Array.of(BigInt(value)) });

/** The same numbers in another type. */
export const cast = (graph: GraphBuilder, value: string, type: DataType) =>
  graph.op("Cast", [value], { to: { int: DATA_TYPES[type] } });

/** Sums over `axes`, which disappear. */
export const sumOver = (graph: GraphBuilder, value: string, ...axes: readonly number[]) =>
  graph.op("ReduceSum", [value, integers(graph, ...axes)], { keepdims: { int: 0 } });

/** Sums over the last axis, which stays with size 1. */
export const rowSums = (graph: GraphBuilder, value: string) =>
  graph.op("ReduceSum", [value, integers(graph, -1)], { keepdims: { int: 1 } });

/**
 * aᵀ b: [rows, many] and [rows, few] → [many, few], by way of bᵀ a: the runtime reads a wide matrix along its rows a fifth to a
 * third quicker than along its columns.
 */
export const narrowProduct = (graph: GraphBuilder, a: string, b: string) =>
  graph.op("Transpose", [graph.op("FusedMatMul", [b, a], { transA: { int: 1 } }, MICROSOFT)], {
    perm: { ints: [1, 0] },
  });
