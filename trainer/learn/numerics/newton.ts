/** A concave function at a point of n numbers. */
export type Objective = {
  readonly value: number;
  /** [n] */
  readonly gradient: number[];
  /** [n][n] The negative second derivatives, which must be positive definite. */
  readonly curvature: number[][];
};

const STEPS_MAX = 20;
const TOLERANCE = 1e-4;

/**
 * The point at which a concave function of a few numbers is largest, to 1e-4, by Newton's method. Its steps are halved until the function
 * rises, since whole steps may overshoot and diverge.
 */
export function maximum(at: (point: readonly number[]) => Objective, start: readonly number[]): readonly number[] {
  let point = start;
  let best = at(point);
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    let change = solve(best.curvature, best.gradient);
    for (;;) {
      if (!change.some((value) => Math.abs(value) >= TOLERANCE)) return point;
      const next = point.map((value, i) => value + change[i]!);
      const objective = at(next);
      if (objective.value > best.value) {
        [point, best] = [next, objective];
        break;
      }
      change = change.map((value) => value / 2);
    }
  }
  return point;
}

/** The solution of a positive definite system, by elimination. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const count = right.length;
  const rows = matrix.map((row, f) => [...row, right[f]!]);
  for (const [pivot, top] of rows.entries())
    for (const row of rows.slice(pivot + 1)) {
      const factor = row[pivot]! / top[pivot]!;
      for (let column = pivot; column <= count; column++) row[column]! -= factor * top[column]!;
    }
  const solution = new Array<number>(count).fill(0);
  for (let f = count - 1; f >= 0; f--) {
    const rest = rows[f]!.slice(f + 1, count).reduce((sum, value, i) => sum + value * solution[f + 1 + i]!, 0);
    solution[f] = (rows[f]![count]! - rest) / rows[f]![f]!;
  }
  return solution;
}
