import ortNode from "onnxruntime-node";
import ortWeb from "onnxruntime-web/wasm";
import { expect, test } from "vitest";
import { graphBuilder } from "../../../../trainer/learn/numerics/onnx/graph.ts";
import { int64 } from "../../../../trainer/learn/numerics/onnx/graph-shorthand.ts";
import { type EncodedSparse, encodeSparse } from "../../../../trainer/learn/weights/sparse-encoding.ts";
import { addSparseScores } from "../../../../trainer/learn/weights/sparse-scores.ts";
import { addRow, type SparseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const LENGTHS = [3, 0, 1000, 0, 0, 1, 17, 0];

/** Rows of very uneven lengths; weights of few sizes, so that codes stand for them exactly. */
function unevenMatrix(columnCount: number): SparseWeights {
  const start = new Uint32Array(LENGTHS.length + 1);
  for (const [row, length] of LENGTHS.entries()) start[row + 1] = start[row]! + length;
  const columns = Int32Array.from({ length: start[LENGTHS.length]! }, (_, i) => (i * 999_983) % columnCount);
  const values = Float32Array.from(columns, (_, i) => [1, -0.5, 0.25, 2][i % 4]!);
  return { kind: "sparse", rowCount: LENGTHS.length, columnCount, start, columns, values };
}

function graphOf(matrix: EncodedSparse) {
  const graph = graphBuilder("sparse");
  const files: { path: string; data: Uint8Array }[] = [];
  const items = graph.input("items", "int32", ["L"]);
  const weights = graph.input("weights", "float32", ["L"]);
  const base = graph.op("ConstantOfShape", [graph.constant(int64([1], matrix.columnCount))]);
  const scores = addSparseScores(
    graph,
    base,
    { items, weights },
    {
      matrix,
      file(name, type, dims, data) {
        files.push({ path: name, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
        return graph.external(name, type, dims);
      },
    },
  );
  graph.output("scores", scores, "float32", [matrix.columnCount]);
  return { bytes: graph.build(), options: { externalData: files, intraOpNumThreads: 1 } };
}

const HISTORIES = [[0, 1, 2, 6, 2], [1], [3, 1, 7], [7, 5, 1], [2, 2, 2], [1, 0]];
const CASES = [
  [500, "exact"],
  [500, "coded"],
  [70_000, "exact"],
  [70_000, "coded"],
  [300_000, "coded"],
] as const;

test.each(CASES)(
  "%i columns, %s: both runtimes add up rows of any length, empty ones included",
  async (columnCount, form) => {
    const matrix = unevenMatrix(columnCount);
    const { bytes, options } = graphOf(encodeSparse(matrix, form === "exact"));
    for (const ort of [ortNode, ortWeb]) {
      const session = await ort.InferenceSession.create(bytes, options);
      for (const history of HISTORIES) {
        const factors = history.map((_, i) => 1 / (i + 1));
        const { scores } = await session.run({
          items: new ort.Tensor("int32", Int32Array.from(history), [history.length]),
          weights: new ort.Tensor("float32", Float32Array.from(factors), [history.length]),
        });
        const expected = new Float64Array(columnCount);
        for (const [i, row] of history.entries()) addRow(matrix, row, factors[i]!, expected);
        const actual = scores!.data as Float32Array;
        // Levels are right to a bin's width.
        const off = expected.findIndex(
          (score, column) => Math.abs(score - actual[column]!) > (form === "exact" ? 1e-4 : 0.02),
        );
        expect(off, `history ${history}`).toBe(-1);
      }
      await session.release();
    }
  },
);
