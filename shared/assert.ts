/** Throws if a bug has made the condition false. Wrong input is a Problem, a StageError or a FormatError instead. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${sentence}`);
}

/** A stored file is damaged. The message names the file, the field, what was expected and what was found. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}
