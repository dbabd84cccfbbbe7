import { queryOf, searchOf, singles } from "../../../shared/api.ts";
import { ERRORS_MAX, pointerStep, problemOf } from "../../../shared/parse-request.ts";

/** The query parameters of an address by name. Throws Problem invalid_parameter for those that were sent twice or are not UTF-8. */
export const queryParameters = (url: string): Record<string, string> => singles(queryOf(url));

const SHOWN_MAX = 80;

/** Throws Problem unknown_field for whatever stands in the query: who sends something means something by it. */
export function requireNoQuery(url: string): void {
  const names = [...new URLSearchParams(searchOf(url)).keys()].slice(0, ERRORS_MAX);
  if (names.length === 0) return;
  const message = "is not a query parameter of this call: it takes none";
  const pointers = names.map((name) => pointerStep(name.slice(0, SHOWN_MAX)));
  throw problemOf(pointers.map((pointer) => ({ pointer, code: "unknown_field", message })));
}
