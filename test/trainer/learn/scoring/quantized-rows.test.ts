/** Codes of many rows are those that the runtime's own operator makes of each. */
import fc from "fast-check";
import ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { graphBuilder } from "../../../../trainer/learn/numerics/onnx/graph.ts";
import { cast } from "../../../../trainer/learn/numerics/onnx/graph-shorthand.ts";
import { batchWriter } from "../../../../trainer/learn/scoring/batch-graph.ts";
import { quantizedRows } from "../../../../trainer/learn/scoring/joined-histories.ts";

const [COUNT, WIDTH] = [4, 7];
/** -0 is 0. */
const plain = (code: number) => code + 0;

async function sessions() {
  const writer = batchWriter(COUNT);
  const { codes, units } = quantizedRows("rows", writer);
  writer.rename(writer.op("Identity", [codes]), "codes");
  writer.rename(writer.op("Identity", [units]), "units");
  const graph = { nodes: [], initializers: [], inputs: [], domains: [] };
  const rows = [{ name: "rows", type: "float32" as const, dims: [COUNT, WIDTH] }];
  const outputs = ["codes", "units"].map((name) => ({ name, type: "float32" as const, dims: [COUNT, "n"] }));
  const single = graphBuilder("single");
  const [code, unit, zero] = single.ops("DynamicQuantizeLinear", [single.input("row", "float32", [WIDTH])], 3);
  single.output(
    "codes",
    single.op("Sub", [cast(single, code!, "float32"), cast(single, zero!, "float32")]),
    "float32",
    [WIDTH],
  );
  single.output("unit", single.op("Identity", [unit!]), "float32", []);
  const [many, one] = [writer.build(graph, rows, outputs), single.build()];
  return { many: await ort.InferenceSession.create(many), one: await ort.InferenceSession.create(one) };
}

test("rows of every sign and size, also zeros", async () => {
  const { many, one } = await sessions();
  const upTo = (max: number) =>
    fc.float({ noNaN: true, min: -max, max }).map((value) => (Math.abs(value) > 1e-30 ? value : 0));
  const number = fc.oneof(upTo(1), fc.constant(0), upTo(1e4));
  const row = fc.array(number, { minLength: WIDTH, maxLength: WIDTH });
  const ofOneSign = row.map((numbers) => numbers.map(Math.abs));
  const rows = fc.array(fc.oneof(row, ofOneSign), { minLength: COUNT, maxLength: COUNT });
  const check = async (numbers: number[][]) => {
    const all = await many.run({ rows: new ort.Tensor("float32", Float32Array.from(numbers.flat()), [COUNT, WIDTH]) });
    for (const [i, values] of numbers.entries()) {
      const { codes, unit } = await one.run({ row: new ort.Tensor("float32", Float32Array.from(values), [WIDTH]) });
      const ofRow = (all.codes!.data as Float32Array).subarray(i * WIDTH, (i + 1) * WIDTH);
      expect(Array.from(ofRow, plain)).toEqual(Array.from(codes!.data as Float32Array, plain));
      expect((all.units!.data as Float32Array)[i]).toBe((unit!.data as Float32Array)[0]);
    }
  };
  await fc.assert(fc.asyncProperty(rows, check), { numRuns: 300 });
  await Promise.all([many.release(), one.release()]);
});
