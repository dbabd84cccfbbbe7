import { Problem, type ProblemCode } from "../problem.ts";

/** A Problem about one place of a filter. */
export function filterProblem(code: ProblemCode, pointer: string, message: string): Problem {
  return new Problem(code, `${pointer} ${message}`, { errors: [{ pointer, code, message }] });
}
