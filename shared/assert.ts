/** Stops on a mistake of our own. Never for a caller's input: that is a Problem, a StageError or a FormatError. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${sentence}`);
}

/** A stored file says something that cannot be true. Names the file, the field, what was expected and found. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}
