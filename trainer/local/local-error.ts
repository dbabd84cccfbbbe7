/** Something the person at the terminal can put right: shown as one sentence, without a stack trace. */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

/** With its full stop, which the service's messages may lack. */
export const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
