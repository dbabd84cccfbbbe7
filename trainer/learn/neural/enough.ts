import type { Method, TrainingData } from "../model.ts";

/** With fewer positive interactions, closed forms rank better than networks, in a hundredth of the time. */
export const NEURAL_INTERACTIONS_MIN = 20_000;

/** The same method with an empty grid on data that are too small for networks. */
export function whereDataAllow(method: Method): Method {
  return {
    ...method,
    grid: (data) => (isEnough(data) ? method.grid(data) : []),
    // An empty grid has no settings to ask the cost of; the highest cost puts the method last.
    cost: (data, params) =>
      Object.keys(params).length === 0 ? { seconds: Number.MAX_VALUE, memoryMb: 0 } : method.cost(data, params),
  };
}

function isEnough({ items, positive }: TrainingData): boolean {
  if (items.length < NEURAL_INTERACTIONS_MIN) return false;
  return positive.reduce((count, is) => count + is, 0) >= NEURAL_INTERACTIONS_MIN;
}
