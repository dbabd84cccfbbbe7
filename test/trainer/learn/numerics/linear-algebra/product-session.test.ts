import ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { openProductSession } from "../../../../../trainer/learn/numerics/linear-algebra/product-session.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";

test.each([[undefined], [1]])("a graph gives its product, with %s threads", async (threads) => {
  const graph = graphBuilder("product");
  const [a, b] = ["a", "b"].map((name) => graph.input(name, "float32", [2, 2])) as [string, string];
  graph.output("product", graph.op("MatMul", [a, b]), "float32", [2, 2]);
  const session = await openProductSession(graph.build(), threads);
  const tensor = (...values: number[]) => new ort.Tensor("float32", Float32Array.from(values), [2, 2]);
  const { product } = await session.run({ a: tensor(1, 2, 3, 4), b: tensor(5, 6, 7, 8) });
  expect([...(product!.data as Float32Array)]).toEqual([19, 22, 43, 50]);
  await session.release();
});
