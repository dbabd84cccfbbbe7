import { clearGradient, type Parameter, type Parameters } from "./parameters.ts";

// The paper's values: decay of the first and the second moment, and what keeps divisions finite.
const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

/**
 * Adam (Kingma and Ba 2015, algorithm 1). Rows of a lazy table without a gradient keep their values and moments, as in
 * LazyAdam. A step clears the gradients that it used.
 */
export function adam(parameters: Parameters) {
  const moments = new Map(
    [...parameters].map(([name, { value }]) => [
      name,
      { first: new Float32Array(value.length), second: new Float32Array(value.length) },
    ]),
  );
  let stepCount = 0;
  return {
    step(learningRate: number): void {
      stepCount++;
      const rate = {
        stride: learningRate / (1 - BETA1 ** stepCount),
        secondScale: 1 / Math.sqrt(1 - BETA2 ** stepCount),
      };
      for (const [name, parameter] of parameters) {
        updateParameter(parameter, moments.get(name)!, rate);
        clearGradient(parameter);
      }
    },
  };
}

type Rate = { readonly stride: number; readonly secondScale: number };
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
  { stride, secondScale, start, end }: Rate & { readonly start: number; readonly end: number },
): void {
  const rest1 = 1 - BETA1;
  const rest2 = 1 - BETA2;
  for (let i = start; i < end; i++) {
    const slope = gradient[i]!;
    const m = BETA1 * first[i]! + rest1 * slope;
    const v = BETA2 * second[i]! + rest2 * slope * slope;
    first[i] = m;
    second[i] = v;
    value[i] = value[i]! - (stride * m) / (Math.sqrt(v) * secondScale + EPSILON);
  }
}
