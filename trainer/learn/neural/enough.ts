import type { Method, TrainingData } from "../model.ts";

/** Positive interactions below which closed forms rank better than anything that is trained, in a hundredth of the time. */
export const NEURAL_INTERACTIONS_MIN = 20_000;

/** The same method, with nothing to try where the data are too few for it. */
export function whereDataAllow(method: Method): Method {
  return {
    ...method,
    grid: (data) => (isEnough(data) ? method.grid(data) : []),
    // Asked about before the settings are known; a method without settings is not tried.
    cost: (data, params) =>
      Object.keys(params).length === 0 ? { seconds: Number.MAX_VALUE, memoryMb: 0 } : method.cost(data, params),
  };
}

function isEnough({ items, positive }: TrainingData): boolean {
  if (items.length < NEURAL_INTERACTIONS_MIN) return false;
  return positive.reduce((count, is) => count + is, 0) >= NEURAL_INTERACTIONS_MIN;
}
