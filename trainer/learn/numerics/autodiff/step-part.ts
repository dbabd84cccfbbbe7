import * as ort from "onnxruntime-node";
import type { GradientPart } from "./tape.ts";

export type StepInputs = Readonly<Record<string, ort.Tensor>>;

/** A forward and backward pass, in a form that can be sent to a thread. The values of parameters are in shared memory. */
export type StepProgram = {
  readonly graph: Uint8Array;
  /** Gradients, by the names of graph outputs. */
  readonly outputs: readonly GradientPart[];
  readonly parameters: readonly NamedValue[];
  /** Inputs that are the same in every step. */
  readonly constants: StepInputsAsData;
};

type NamedValue = { readonly name: string; readonly dims: readonly number[]; readonly value: Float32Array };

/** Row i of `rows` is to be added to row indices[i] of a parameter's gradient. */
export type RowGradient = {
  readonly parameter: string;
  readonly indices: Int32Array;
  readonly rows: Float32Array;
};

/** What one part of a batch gives. Its dense gradients are in the arrays that the part was opened with. */
export type PartResult = { readonly loss: number; readonly rowGradients: readonly RowGradient[] };

/** Computes one part of a batch at a time. */
export type StepPart = {
  /** `use` gets arrays that are valid until it returns. */
  run<Used>(inputs: StepInputs, use: (result: PartResult) => Used): Promise<Used>;
  release(): Promise<void>;
};

export const LOSS = "loss";

/** @param gradients The array that each dense gradient is written to, by parameter. */
export async function openPart(
  { graph, outputs, parameters, constants }: StepProgram,
  gradients: ReadonlyMap<string, Float32Array>,
): Promise<StepPart> {
  const session = await openSession(graph);
  const dimsOf = new Map(parameters.map(({ name, dims }) => [name, dims]));
  const feeds: Record<string, ort.Tensor> = { ...asTensors(constants) };
  for (const { name, dims, value } of parameters) feeds[name] = new ort.Tensor("float32", value, dims);
  const rowOutputs = outputs.filter((output) => output.kind === "rows");
  const fetches: Record<string, ort.Tensor | null> = { [LOSS]: null };
  for (const output of outputs) {
    if (output.kind === "rows") Object.assign(fetches, { [output.rows]: null, [output.indices]: null });
    else {
      const gradient = gradients.get(output.parameter)!;
      fetches[output.gradient] = new ort.Tensor("float32", gradient, dimsOf.get(output.parameter)!);
    }
  }
  return {
    async run(inputs, use) {
      const results = await session.run({ ...feeds, ...inputs }, fetches);
      const rowGradients = rowOutputs.map(({ parameter, indices, rows }) => ({
        parameter,
        indices: results[indices]!.data as Int32Array,
        rows: results[rows]!.data as Float32Array,
      }));
      const used = use({ loss: (results[LOSS]!.data as Float32Array)[0]!, rowGradients });
      for (const name of Object.keys(results)) if (fetches[name] === null) results[name]!.dispose();
      return used;
    },
    release: () => session.release(),
  };
}

/** A session on one thread: a step is shared between threads by rows of its batch, not within each operator. */
export const openSession = (graph: Uint8Array): Promise<ort.InferenceSession> =>
  ort.InferenceSession.create(graph, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    // It does not log its optimisations.
    logSeverityLevel: 3,
  });

/** Tensors as a thread can be sent them. */
export type StepInputsAsData = Readonly<Record<string, Pick<ort.Tensor, "type" | "data" | "dims">>>;

export const asData = (inputs: StepInputs): StepInputsAsData =>
  Object.fromEntries(Object.entries(inputs).map(([name, { type, data, dims }]) => [name, { type, data, dims }]));

export const asTensors = (inputs: StepInputsAsData): StepInputs =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data as never, dims)]),
  );
