import type { z } from "zod";

/** The parsed value, or one Problem whose `errors` name every fault. `at` is the JSON pointer of the value. */
export function parseWith<T>(_schema: z.ZodType<T>, _value: unknown, _options: { readonly at?: string } = {}): T {
  throw new Error("not built yet");
}

/** Throws Problem invalid_json. */
export function parseJson(_text: string): unknown {
  throw new Error("not built yet");
}
