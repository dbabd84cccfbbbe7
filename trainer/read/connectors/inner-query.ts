/**
 * A query as it can stand in parentheses, a line break before the closing one: without the semicolons at its end, and
 * without the comments that follow them.
 *
 * Idea. Which semicolon ends the statement is only known by reading from the beginning, since a text or a comment may
 * have semicolons too. What the stores' languages read differently (backslashes and triple quotes in texts, nested
 * comments, `$` and `#`) is not guessed: such a query keeps its comments, and loses semicolons and white space only.
 *
 * Example. `SELECT ';' FROM t; -- all` is `SELECT ';' FROM t`.
 */
export function innerQuery(query: string): string {
  const semicolon = lastStatementEnd(query);
  let end = semicolon ?? query.length;
  while (end > 0 && IGNORED.test(query[end - 1]!)) end--;
  return query.slice(0, end);
}

const IGNORED = /[;\s]/;
const SPACE = /\s/;

/** The first of the semicolons after which there are only white space, comments and semicolons; undefined when unsure. */
function lastStatementEnd(query: string): number | undefined {
  let semicolon: number | undefined;
  for (let at = 0; at < query.length; ) {
    const token = tokenAt(query, at);
    if (token === undefined) return undefined;
    if (token.kind === "semicolon") semicolon ??= at;
    if (token.kind === "other") semicolon = undefined;
    at = token.end;
  }
  return semicolon;
}

type Token = { readonly kind: "semicolon" | "ignored" | "other"; readonly end: number };

/** What begins here; undefined when the languages differ about it, or it never ends. */
function tokenAt(query: string, at: number): Token | undefined {
  const first = query[at]!;
  switch (first) {
    case ";":
      return { kind: "semicolon", end: at + 1 };
    case "'":
    case '"':
    case "`":
      return quotedAt(query, at, first);
    case "$":
    case "#":
      return undefined;
  }
  if (query.startsWith("--", at)) return lineCommentAt(query, at);
  if (query.startsWith("/*", at)) return blockCommentAt(query, at);
  return { kind: SPACE.test(first) ? "ignored" : "other", end: at + 1 };
}

/** A doubled quote is the end of one text and the beginning of the next, which comes to the same. */
function quotedAt(query: string, at: number, quote: string): Token | undefined {
  const close = query.indexOf(quote, at + 1);
  if (close < 0 || query.startsWith(quote.repeat(3), at) || query.slice(at, close).includes("\\")) return undefined;
  return { kind: "other", end: close + 1 };
}

function lineCommentAt(query: string, at: number): Token | undefined {
  const close = query.indexOf("\n", at);
  const end = close < 0 ? query.length : close;
  return /\r(?!$)/.test(query.slice(at, end)) ? undefined : { kind: "ignored", end };
}

function blockCommentAt(query: string, at: number): Token | undefined {
  const close = query.indexOf("*/", at + 2);
  if (close < 0 || query.slice(at + 2, close + 1).includes("/*")) return undefined;
  return { kind: "ignored", end: close + 2 };
}
