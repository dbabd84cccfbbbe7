import * as z from "zod";
import { ID_BYTES_MAX, idFaultOf } from "./ids.ts";
import { shown } from "./parse-request.ts";

const FAULTS = {
  empty: "must not be empty",
  too_long: `must have at most ${ID_BYTES_MAX} bytes of UTF-8`,
  has_nul: "must not contain the character NUL",
  not_unicode: "must be well-formed Unicode, without lone surrogates",
} as const;

/** An id as it is sent. OpenAPI gets the bounds that `Id` checks. */
export const SentId = z.union([
  z.string().meta({ minLength: 1, maxLength: ID_BYTES_MAX, pattern: "^[^\\u0000]*$" }),
  z.number().meta({ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
]);

/** An id in JSON: text, or an integer that JSON can represent exactly. The parsed value is its canonical text form. */
export const Id = SentId.transform((sent, context) => {
  const fault = typeof sent === "number" ? numberFault(sent) : textFault(sent);
  if (fault === undefined) return String(sent);
  context.addIssue({ code: "custom", message: `${fault}, found ${shown(sent)}` });
  return z.NEVER;
}).meta({
  description:
    `Text of 1 to ${ID_BYTES_MAX} bytes of UTF-8, without the character NUL and lone surrogates, or an integer within ±(2^53 − 1). ` +
    '7 and "7" are the same id.',
  examples: ["u17", 17],
});

export const textFault = (text: string): string | undefined => {
  const fault = idFaultOf(text);
  return fault && FAULTS[fault];
};

const numberFault = (value: number): string | undefined => {
  if (!Number.isInteger(value)) return "must be a string or an integer";
  return Number.isSafeInteger(value)
    ? undefined
    : "is beyond 2^53−1, where JSON numbers lose digits: send it as a string";
};
