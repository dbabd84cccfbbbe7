import ort from "onnxruntime-node";
import { graphBuilder } from "../onnx/graph.ts";
import { openProductSession } from "./product-session.ts";

/** Row-major. */
export type Matrix = { readonly rows: number; readonly columns: number; readonly values: Float32Array };

export type Product = {
  readonly a: Matrix;
  readonly b: Matrix;
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  /** Factor of the product; 1 unless given. */
  readonly alpha?: 1 | -1;
  /** Added to the product; of its shape. */
  readonly plus?: Matrix;
  /** Where the result goes; must not be an operand. */
  readonly into?: Float32Array;
};

/** Dense products at the speed of onnxruntime: some 200 GFLOPS on one core of 2024, 100 times a loop in JavaScript. */
export type Gemm = {
  /** alpha · op(a) · op(b) + plus, where op transposes or not. */
  multiply(product: Product): Promise<Matrix>;
  close(): Promise<void>;
};

/** @param threads All cores, up to eight, unless given. */
export function openGemm(threads?: number): Gemm {
  const sessions = new Map<string, Promise<ort.InferenceSession>>();
  return {
    async multiply({ a, b, transposeA = false, transposeB = false, alpha = 1, plus, into }) {
      const form = { transposeA, transposeB, alpha, hasPlus: plus !== undefined };
      const key = JSON.stringify(form);
      const session = sessions.get(key) ?? openSession(form, threads);
      sessions.set(key, session);
      const rows = transposeA ? a.columns : a.rows;
      const columns = transposeB ? b.rows : b.columns;
      const values = into ?? new Float32Array(rows * columns);
      const feeds: Record<string, ort.Tensor> = { a: tensorOf(a), b: tensorOf(b) };
      if (plus) feeds.plus = tensorOf(plus);
      await (await session).run(feeds, { product: new ort.Tensor("float32", values, [rows, columns]) });
      return { rows, columns, values };
    },
    async close() {
      for (const session of sessions.values()) await (await session).release();
      sessions.clear();
    },
  };
}

type Form = { readonly transposeA: boolean; readonly transposeB: boolean; readonly alpha: number; hasPlus: boolean };

function openSession(form: Form, threads: number | undefined): Promise<ort.InferenceSession> {
  const graph = graphBuilder("gemm");
  const inputs = [graph.input("a", "float32", ["p", "q"]), graph.input("b", "float32", ["r", "s"])];
  if (form.hasPlus) inputs.push(graph.input("plus", "float32", ["m", "n"]));
  const product = graph.op("Gemm", inputs, {
    transA: { int: form.transposeA ? 1 : 0 },
    transB: { int: form.transposeB ? 1 : 0 },
    alpha: { float: form.alpha },
  });
  graph.output("product", product, "float32", ["m", "n"]);
  return openProductSession(graph.build(), threads);
}

const tensorOf = ({ rows, columns, values }: Matrix) => new ort.Tensor("float32", values, [rows, columns]);
