/** A failure whose sentence tells the person at the terminal enough. Commands print it without a stack trace. */
export class ExpectedError extends Error {
  override readonly name: string = "ExpectedError";
  /** 1: the command failed. 2: its arguments or settings are wrong, so that repeating it cannot help. */
  readonly exitCode: 1 | 2 = 1;
}

/** The arguments or the settings are wrong. */
export class UsageError extends ExpectedError {
  override readonly name: string = "UsageError";
  override readonly exitCode = 2;
}
