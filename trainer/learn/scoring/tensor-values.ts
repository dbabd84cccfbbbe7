import type { GraphBuilder, TensorValue } from "../numerics/onnx/graph.ts";

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

/** What stands at these indices of the first axis. */
export const gather = (graph: GraphBuilder, from: string, at: string): string =>
  graph.op("Gather", [from, at], { axis: { int: 0 } });
