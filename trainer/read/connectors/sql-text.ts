import { clipped } from "../../../shared/clipped.ts";

/** A name as SQL writes it, whatever characters it contains. */
export const identifier = (name: string): string => `"${withoutNul(name).replaceAll('"', '""')}"`;

/** A text as an SQL literal. */
export const literal = (text: string): string => `'${withoutNul(text).replaceAll("'", "''")}'`;

/** Refuses NUL: DuckDB's parser would end there, so the rest would not be quoted. */
function withoutNul(text: string): string {
  if (text.includes("\0"))
    throw new RangeError(`SQL cannot name ${JSON.stringify(clipped(text, 100))}: it contains a NUL`);
  return text;
}

/**
 * A customer's query as it can stand in parentheses: without semicolons and white space at its end. The closing parenthesis must
 * stand on the next line, since the query may end in a comment.
 */
export function innerQuery(query: string): string {
  let end = query.length; // a regular expression would take quadratic time for many spaces
  while (end > 0 && /[;\s]/.test(query[end - 1]!)) end--;
  return query.slice(0, end);
}
