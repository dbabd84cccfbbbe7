import type * as ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { linearCrossEntropy } from "../../../trainer/autodiff/linear-cross-entropy.ts";
import { parameter } from "../../../trainer/autodiff/parameters.ts";
import { sampledCrossEntropy } from "../../../trainer/autodiff/sampled-cross-entropy.ts";
import { newTape, type Tape, type Tensor } from "../../../trainer/autodiff/tape.ts";
import { compileStep } from "../../../trainer/autodiff/training-step.ts";
import { graphBuilder } from "../../../trainer/onnx/graph.ts";
import { checkGradients, float32, int32, wobble } from "./gradient-check.ts";

const NAMES = { targets: "targets", drawn: "drawn", correction: "correction" };

test("gradients over drawn rows, a row's own target and doubles among them", () =>
  checkGradients({
    shapes: { hidden: [4, 3], table: [6, 3] },
    inputs: {
      targets: int32(2, 0, 2, 4),
      drawn: int32(4, 1, 4, 5, 2),
      correction: float32([0.5, -0.3, 0.5, 1, 0], [5]),
    },
    build: (tape, { hidden, table }) => sampledCrossEntropy(tape, { hidden: hidden!, table: table!, ...NAMES }),
  }));

/** The loss and its gradients, of the same numbers whatever the loss. */
async function lossOf(
  inputs: Record<string, ort.Tensor>,
  build: (tape: Tape, hidden: Tensor, table: Tensor) => Tensor,
) {
  const shapes = { hidden: [4, 3], table: [6, 3] };
  const parameters = new Map(Object.entries(shapes).map(([name, dims], i) => [name, parameter(dims, wobble(i))]));
  const tape = newTape(graphBuilder("losses"));
  for (const [name, { type, dims }] of Object.entries(inputs))
    tape.graph.input(name, type as "int32" | "float32", dims);
  const [hidden, table] = [tape.parameter("hidden", shapes.hidden), tape.parameter("table", shapes.table)];
  const step = await compileStep(tape, build(tape, hidden, table), { parameters });
  const loss = await step.run(inputs);
  await step.release();
  return { loss, gradients: [...parameters.values()].flatMap(({ gradient }) => [...gradient]) };
}

test("when every row is drawn once, without correction, it is the cross entropy over the table", async () => {
  const targets = int32(2, 0, 2, 4);
  const drawn = { drawn: int32(5, 4, 3, 2, 1, 0), correction: float32([0, 0, 0, 0, 0, 0], [6]) };
  const whole = await lossOf({ targets }, (tape, hidden, table) =>
    linearCrossEntropy(tape, { hidden, table, targets: "targets" }),
  );
  const sampled = await lossOf({ targets, ...drawn }, (tape, hidden, table) =>
    sampledCrossEntropy(tape, { hidden, table, ...NAMES }),
  );
  expect(sampled.loss).toBeCloseTo(whole.loss, 6);
  for (const [i, slope] of sampled.gradients.entries()) expect(slope).toBeCloseTo(whole.gradients[i]!, 6);
});
