import { openThread } from "../asked-thread.ts";
import { addRowGradient, type Parameters } from "./parameters.ts";
import {
  asData,
  LOSS,
  openPart,
  type PartResult,
  type RowGradient,
  type StepInputs,
  type StepInputsAsData,
  type StepProgram,
} from "./step-part.ts";
import type { GradientPart, Tape, Tensor } from "./tape.ts";

/** A forward and backward pass: it takes the inputs of a batch, returns the loss, and leaves gradients in the parameters. */
export type TrainingStep = {
  /**
   * Takes the batch in as many parts as there are threads, or fewer. Returns the sum of their losses. Adds to the gradients of lazy tables
   * and replaces all others. Throws if the loss is not finite.
   */
  run(...parts: readonly StepInputs[]): Promise<number>;
  release(): Promise<void>;
};

export type StepOptions = {
  /** Threads that compute parts of a batch at the same time. Absent: one. */
  readonly threads?: number | undefined;
  /** Inputs that are the same in every step. */
  readonly constants?: StepInputs;
};

/** What a training thread is started with. */
export type ThreadTask = { readonly program: StepProgram; readonly gradients: ReadonlyMap<string, Float32Array> };

const PROGRAM = new URL("./step-worker.ts", import.meta.url).href;

/**
 * Compiles `loss` and its gradients. Parameters enter, and dense gradients leave, without a copy in JavaScript. Each thread has a session
 * of its own (data parallelism: gradients of the parts are added, so the sum is that of the whole batch but for rounding).
 */
export async function compileStep(
  tape: Tape,
  loss: Tensor,
  parameters: Parameters,
  { threads = 1, constants = {} }: StepOptions = {},
): Promise<TrainingStep> {
  const gradientParts = tape.gradients(loss);
  tape.graph.output(LOSS, loss.value, "float32", []);
  const program: StepProgram = {
    outputs: gradientParts.map((part, index) => declareOutputs(tape, part, index)),
    graph: tape.graph.build(),
    parameters: [...parameters].map(([name, { dims, value }]) => ({ name, dims, value })),
    constants: asData(constants),
  };
  const dense = program.outputs.flatMap((output) => (output.kind === "dense" ? [output.parameter] : []));
  const own = await openPart(program, new Map(dense.map((name) => [name, parameters.get(name)!.gradient])));
  const others = Array.from({ length: threads - 1 }, () => {
    const gradients = new Map(dense.map((name) => [name, sharedLike(parameters.get(name)!.gradient)]));
    return { gradients, ...openThread<StepInputsAsData, PartResult>(PROGRAM, { program, gradients }) };
  });
  const addRows = (all: readonly RowGradient[]) => {
    for (const { parameter, indices, rows } of all) addRowGradient(parameters.get(parameter)!, indices, rows);
  };
  return {
    async run(first, ...rest) {
      const asked = rest.map((inputs, i) => others[i]!.ask(asData(inputs))); // before this thread is blocked
      const ownLoss = own.run(first!, ({ loss, rowGradients }) => {
        addRows(rowGradients);
        return loss;
      });
      const [value, ...results] = await Promise.all([ownLoss, ...asked]);
      for (const [i, { rowGradients }] of results.entries()) {
        for (const [name, gradient] of others[i]!.gradients) addTo(parameters.get(name)!.gradient, gradient);
        addRows(rowGradients);
      }
      const sum = results.reduce((sum, { loss }) => sum + loss, value);
      if (!Number.isFinite(sum)) throw new Error(`the loss is ${sum}: lower the learning rate`);
      return sum;
    },
    async release() {
      await Promise.all([own.release(), ...others.map(({ close }) => close())]);
    },
  };
}

const sharedLike = ({ byteLength }: Float32Array) => new Float32Array(new SharedArrayBuffer(byteLength));

function addTo(sum: Float32Array, added: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i]! += added[i]!;
}

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
