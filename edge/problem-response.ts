import { PROBLEMS, Problem, problemBody } from "../shared/problem.ts";
import { isUnreadable } from "./reading/artifact-reader.ts";

/** The only place where an error becomes an HTTP answer. */
export function problemResponse(error: unknown, requestId: string): Response {
  const problem = problemOf(error);
  const { retryAfterSeconds } = problem;
  const headers = {
    ...problem.headers,
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    "x-request-id": requestId,
  };
  return new Response(JSON.stringify(problemBody(problem, requestId)), {
    status: PROBLEMS[problem.code].status,
    headers,
  });
}

/** The problem that the caller receives: everything about the caller's own fault, nothing about an internal error. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isUnreadable(error))
    return new Problem("artifact_unavailable", `${PROBLEMS.artifact_unavailable.title}. Try again.`, {
      cause: error,
      retryAfterSeconds: 2,
    });
  return new Problem("internal", PROBLEMS.internal.title, { cause: error });
}

/** An error with its causes, for the log only. The request id in the answer leads to that line. */
export function errorForLog(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return String(error);
  const text = depth === 0 && !(error instanceof Problem) ? (error.stack ?? String(error)) : String(error);
  return error.cause === undefined || depth > 4 ? text : `${text} <- ${errorForLog(error.cause, depth + 1)}`;
}
