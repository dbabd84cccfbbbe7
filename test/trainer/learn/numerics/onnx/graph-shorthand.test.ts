import ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";
import { cast, float32, gather, int32, int64 } from "../../../../../trainer/learn/numerics/onnx/graph-shorthand.ts";

test("constants and casts have the types and shapes that the runtime reads", async () => {
  const graph = graphBuilder("values");
  const add = (name: string, value: string, type: "int64" | "int32" | "float32") =>
    graph.output(name, value, type, null);
  add("longs", gather(graph, graph.constant(int64([3], 5, -6, 7)), graph.constant(int32([2], 2, 1))), "int64");
  add("scalar", cast(graph, graph.constant(float32([], 2.5)), "int32"), "int32");
  add("single", cast(graph, graph.constant(int32([1], 4)), "float32"), "float32");
  add("wide", cast(graph, graph.constant(int32([1], 4)), "int64"), "int64");
  const session = await ort.InferenceSession.create(graph.build());
  const { longs, scalar, single, wide } = await session.run({});
  expect([...(longs!.data as BigInt64Array)]).toEqual([7n, -6n]);
  expect([scalar!.dims.length, scalar!.data[0]]).toEqual([0, 2]);
  expect([single!.type, single!.data[0], wide!.type, wide!.data[0]]).toEqual(["float32", 4, "int64", 4n]);
  await session.release();
});
