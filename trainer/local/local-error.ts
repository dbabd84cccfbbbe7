import { ExpectedError } from "../expected-error.ts";

/** An error that the user of the terminal can fix. It is printed as one sentence without a stack trace. */
export class LocalError extends ExpectedError {
  override readonly name = "LocalError";
}

/** Adds the full stop that some of the service's messages lack. */
export const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
