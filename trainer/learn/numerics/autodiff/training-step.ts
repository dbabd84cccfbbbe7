import * as ort from "onnxruntime-node";
import { addRowGradient, type Parameters } from "./parameters.ts";
import type { GradientPart, Tape, Tensor } from "./tape.ts";

/** A forward and backward pass in one session: it takes inputs, returns the loss, and leaves gradients in the parameters. */
export type TrainingStep = {
  /** Returns the loss. Adds to the gradients of lazy tables and replaces all others. Throws if the loss is not finite. */
  run(inputs: Readonly<Record<string, ort.Tensor>>): Promise<number>;
  release(): Promise<void>;
};

const LOSS = "loss";

/** Compiles `loss` and its gradients. Parameters enter, and dense gradients leave, without a copy in JavaScript. */
export async function compileStep(tape: Tape, loss: Tensor, parameters: Parameters): Promise<TrainingStep> {
  const parts = tape.gradients(loss);
  tape.graph.output(LOSS, loss.value, "float32", []);
  const outputs = parts.map((part, index) => declareOutputs(tape, part, index));
  const session = await openSession(tape.graph.build());

  const feeds: Record<string, ort.Tensor> = {};
  for (const [name, { value, dims }] of parameters) feeds[name] = new ort.Tensor("float32", value, dims);
  const fetches: Record<string, ort.Tensor | null> = { [LOSS]: null };
  for (const output of outputs) {
    if (output.kind === "rows") Object.assign(fetches, { [output.rows]: null, [output.indices]: null });
    else {
      const { gradient, dims } = parameters.get(output.parameter)!;
      fetches[output.gradient] = new ort.Tensor("float32", gradient, dims);
    }
  }
  return {
    async run(inputs) {
      const results = await session.run({ ...feeds, ...inputs }, fetches);
      const value = (results[LOSS]!.data as Float32Array)[0]!;
      if (!Number.isFinite(value)) throw new Error(`the loss is ${value}: lower the learning rate`);
      for (const output of outputs) {
        if (output.kind !== "rows") continue;
        const indices = results[output.indices]!.data as Int32Array;
        addRowGradient(parameters.get(output.parameter)!, indices, results[output.rows]!.data as Float32Array);
      }
      for (const name of Object.keys(results)) if (fetches[name] === null) results[name]!.dispose();
      return value;
    },
    release: () => session.release(),
  };
}

/** A session on one thread (two are slower when the other core is busy) that does not log its optimisations. */
export const openSession = (graph: Uint8Array): Promise<ort.InferenceSession> =>
  ort.InferenceSession.create(graph, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    logSeverityLevel: 3,
  });

/** The same part, with its graph values replaced by the names of graph outputs. */
function declareOutputs({ graph }: Tape, part: GradientPart, index: number): GradientPart {
  if (part.kind === "dense") {
    const gradient = `gradient_${index}`;
    graph.output(gradient, part.gradient, "float32", null);
    return { ...part, gradient };
  }
  const indices = `indices_${index}`;
  const rows = `rows_${index}`;
  graph.output(indices, part.indices, "int32", null);
  graph.output(rows, part.rows, "float32", null);
  return { ...part, indices, rows };
}
