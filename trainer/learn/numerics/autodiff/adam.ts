import { clearRowGradients, type Parameter, type Parameters } from "./parameters.ts";

export type AdamOptions = {
  readonly beta1?: number;
  readonly beta2?: number;
  /** Share of a weight that a step with learning rate 1 takes away, apart from the gradient (AdamW). */
  readonly weightDecay?: number;
};

export type AdamState = {
  stepCount: number;
  readonly moments: ReadonlyMap<string, { readonly first: Float32Array; readonly second: Float32Array }>;
};

const EPSILON = 1e-8;

/**
 * Adam with decoupled weight decay (Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019). Rows of a lazy table
 * that a step did not touch keep their moments, as in LazyAdam. Clears the gradients it used.
 */
export function adam(parameters: Parameters, options: AdamOptions = {}) {
  const { beta1 = 0.9, beta2 = 0.999, weightDecay = 0 } = options;
  const moments = new Map(
    [...parameters].map(([name, { value }]) => [
      name,
      { first: new Float32Array(value.length), second: new Float32Array(value.length) },
    ]),
  );
  const state: AdamState = { stepCount: 0, moments };
  return {
    state,
    step(learningRate: number): void {
      state.stepCount++;
      const rate = {
        beta1,
        beta2,
        stride: learningRate / (1 - beta1 ** state.stepCount),
        secondScale: 1 / Math.sqrt(1 - beta2 ** state.stepCount),
        shrink: 1 - learningRate * weightDecay,
      };
      for (const [name, parameter] of parameters) {
        updateParameter(parameter, moments.get(name)!, rate);
        clearRowGradients(parameter);
      }
    },
  };
}

type Rate = {
  readonly beta1: number;
  readonly beta2: number;
  readonly stride: number;
  readonly secondScale: number;
  readonly shrink: number;
};
type Moments = { readonly first: Float32Array; readonly second: Float32Array };

function updateParameter(parameter: Parameter, moments: Moments, rate: Rate): void {
  const { touched, rowSize, value } = parameter;
  if (!touched) {
    updateSpan(parameter, moments, { ...rate, start: 0, end: value.length });
    return;
  }
  for (let i = 0; i < touched.count; i++) {
    const start = touched.rows[i]! * rowSize;
    updateSpan(parameter, moments, { ...rate, start, end: start + rowSize });
  }
}

function updateSpan(
  { value, gradient }: Parameter,
  { first, second }: Moments,
  { beta1, beta2, stride, secondScale, shrink, start, end }: Rate & { readonly start: number; readonly end: number },
): void {
  const rest1 = 1 - beta1;
  const rest2 = 1 - beta2;
  for (let i = start; i < end; i++) {
    const slope = gradient[i]!;
    const m = beta1 * first[i]! + rest1 * slope;
    const v = beta2 * second[i]! + rest2 * slope * slope;
    first[i] = m;
    second[i] = v;
    value[i] = value[i]! * shrink - (stride * m) / (Math.sqrt(v) * secondScale + EPSILON);
  }
}
