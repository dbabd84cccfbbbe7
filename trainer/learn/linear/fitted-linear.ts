import type { Params } from "../model.ts";
import { type AppendScores, type BlendableModel, exportScores } from "../scoring/scoring-graph.ts";
import { appendLinear, leastLinearBytes } from "./linear-export.ts";
import { type LinearModel, scoreLinear } from "./linear-model.ts";

export type FittedLinear = BlendableModel & { readonly linear: LinearModel };

export function fittedLinear(method: string, params: Params, linear: LinearModel): FittedLinear {
  const append: AppendScores = (graph, inputs, budget) => appendLinear(graph, inputs, linear, budget);
  return {
    method,
    params,
    linear,
    append,
    bytesLeast: () => leastLinearBytes(linear),
    historyMax: Math.max(1, ...linear.terms.map((term) => term.weighting.window)),
    export: exportScores(method, linear.itemCount, append),
    score: (history) => scoreLinear(linear, history),
  };
}
