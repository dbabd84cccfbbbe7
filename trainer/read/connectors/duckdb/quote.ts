/** A name as SQL writes it, whatever it contains. Names cannot contain NUL. */
export const identifier = (name: string): string => `"${withoutNul(name).replaceAll('"', '""')}"`;

/** A text as an SQL literal. Texts cannot contain NUL: DuckDB's parser would end there. */
export const literal = (text: string): string => `'${withoutNul(text).replaceAll("'", "''")}'`;

function withoutNul(text: string): string {
  if (text.includes("\0"))
    throw new RangeError(`SQL cannot name ${JSON.stringify(text.slice(0, 100))}: it contains a NUL`);
  return text;
}
