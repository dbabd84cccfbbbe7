import ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { type GraphBuilder, graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";

type Files = { readonly path: string; readonly data: Uint8Array }[];

/** The graph's outputs for x = [1, 2, 3]. */
async function run(define: (graph: GraphBuilder, x: string) => void, externalData: Files = []) {
  const graph = graphBuilder("test");
  define(graph, graph.input("x", "float32", ["n"]));
  const session = await ort.InferenceSession.create(graph.build(), { externalData });
  const outputs = await session.run({ x: new ort.Tensor("float32", Float32Array.of(1, 2, 3), [3]) });
  await session.release();
  return Object.fromEntries(Object.entries(outputs).map(([name, { data, dims }]) => [name, { data: [...data], dims }]));
}

test("nodes run in order, read constants and files, and name outputs", async () => {
  const data = new Uint8Array(Float32Array.of(10, 20, 30).buffer);
  const outputs = await run(
    (graph, x) => {
      const two = graph.constant({ type: "float32", dims: [], data: Float32Array.of(2) });
      const doubled = graph.op("Mul", [x, two]);
      graph.output("doubled", doubled, "float32", ["n"]);
      graph.output("sum", graph.op("Add", [doubled, graph.external("tens.bin", "float32", [3])]), "float32", [3]);
    },
    [{ path: "tens.bin", data }],
  );
  expect(outputs).toEqual({ doubled: { data: [2, 4, 6], dims: [3] }, sum: { data: [12, 24, 36], dims: [3] } });
});

test("attributes of every kind: int, float, ints, text", async () => {
  const outputs = await run((graph, x) => {
    const column = graph.op("Unsqueeze", [x, graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(0n) })]);
    graph.output("turned", graph.op("Transpose", [column], { perm: { ints: [1, 0] } }), "float32", [3, 1]);
    graph.output("leaky", graph.op("LeakyRelu", [graph.op("Neg", [x])], { alpha: { float: 0.5 } }), "float32", ["n"]);
    const indices = graph.constant({ type: "int64", dims: [2], data: BigInt64Array.of(0n, 0n) });
    const sevens = graph.constant({ type: "float32", dims: [2], data: Float32Array.of(7, 7) });
    const added = graph.op("ScatterElements", [x, indices, sevens], { axis: { int: 0 }, reduction: { text: "add" } });
    graph.output("added", added, "float32", ["n"]);
  });
  expect(outputs.turned).toEqual({ data: [1, 2, 3], dims: [3, 1] });
  expect(outputs.leaky!.data).toEqual([-0.5, -1, -1.5]);
  expect(outputs.added!.data).toEqual([15, 2, 3]);
});

test("a node of several outputs, an absent input, an output whose shape is inferred", async () => {
  const outputs = await run((graph, x) => {
    const count = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(2n) });
    const [values, indices] = graph.ops("TopK", [x, count], 2);
    graph.output("values", values!, "float32", null);
    graph.output("indices", indices!, "int64", [2]);
    const most = graph.constant({ type: "float32", dims: [], data: Float32Array.of(2.5) });
    graph.output("clipped", graph.op("Clip", [x, "", most]), "float32", ["n"]);
  });
  expect(outputs.values!.data).toEqual([3, 2]);
  expect(outputs.indices!.data).toEqual([2n, 1n]);
  expect(outputs.clipped!.data).toEqual([1, 2, 2.5]);
});

test("the domain of an operator is declared in the model", async () => {
  const outputs = await run((graph, x) => {
    const axis = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(0n) });
    const row = graph.op("Unsqueeze", [x, axis]);
    const product = graph.op("FusedMatMul", [row, row], { transB: { int: 1 } }, "com.microsoft");
    graph.output("product", product, "float32", [1, 1]);
  });
  expect(outputs.product!.data).toEqual([14]);
});
