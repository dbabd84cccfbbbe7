/** The beginning of a text, at most so many UTF-16 units, that does not end with half of a character such as an emoji. */
export function clipped(text: string, unitsMax: number): string {
  const beginning = text.slice(0, unitsMax);
  return beginning.length < text.length ? beginning.replace(/[\uD800-\uDBFF]$/, "") : text;
}
