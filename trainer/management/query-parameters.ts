import { pointerStep, problemOf } from "../../shared/parse-request.ts";
import type { ProblemCode } from "../../shared/problem.ts";

/** The query parameters of an address by name. Throws Problem invalid_parameter for those that were sent twice. */
export function queryParameters(url: string): Record<string, string> {
  const sent = [...new URL(url).searchParams];
  const names = sent.map(([name]) => name);
  refuse(
    names.filter((name, i) => names.indexOf(name) !== i),
    "invalid_parameter",
    "was sent twice",
  );
  return Object.fromEntries(sent);
}

/** Throws Problem unknown_field for whatever stands in the query: who sends something means something by it. */
export const requireNoQuery = (url: string): void =>
  refuse(
    [...new URL(url).searchParams.keys()],
    "unknown_field",
    "is not a query parameter of this call: it takes none",
  );

const SHOWN_MAX = 80;
const ERRORS_MAX = 50;

function refuse(names: readonly string[], code: ProblemCode, message: string): void {
  if (names.length === 0) return;
  const shown = names.slice(0, ERRORS_MAX).map((name) => pointerStep(name.slice(0, SHOWN_MAX)));
  throw problemOf(shown.map((pointer) => ({ pointer, code, message })));
}
