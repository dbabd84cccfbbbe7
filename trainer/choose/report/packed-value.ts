/**
 * A JSON value with large arrays in it, as a gzipped container (shared/container.ts). Its array `json` is the value as JSON, in which
 * `{"array": name}` stands for another array of the container.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import * as z from "zod";
import { FormatError } from "../../../shared/assert.ts";
import { arrayOf, decodeContainer, encodeContainer, type TypedArray } from "../../../shared/container.ts";

const BYTES_MAX = 2 ** 30;

export const int32s = z.custom<Int32Array>((value) => value instanceof Int32Array, "must be 32-bit integers");
export const uint32s = z.custom<Uint32Array>(
  (value) => value instanceof Uint32Array,
  "must be 32-bit unsigned integers",
);
export const uint8s = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be bytes");
export const float64s = z.custom<Float64Array>((value) => value instanceof Float64Array, "must be numbers");

export function encodePacked(kind: string, content: object): Uint8Array {
  const arrays: Record<string, TypedArray> = {};
  const json = JSON.stringify(content, (_, value: unknown) => {
    if (!ArrayBuffer.isView(value)) return value;
    const array = `${Object.keys(arrays).length}`;
    arrays[array] = value as TypedArray;
    return { array };
  });
  return gzipSync(encodeContainer({ kind, metadata: {}, arrays: { json: new TextEncoder().encode(json), ...arrays } }));
}

/** @throws FormatError for anything that was not encoded from this kind and schema. */
export function decodePacked<Value>(kind: string, schema: z.ZodType<Value>, bytes: Uint8Array, what: string): Value {
  const parsed = schema.safeParse(valueIn(kind, bytes, what));
  if (parsed.success) return parsed.data;
  throw new FormatError(`${what} cannot be read: ${parsed.error.issues[0]?.message}.`);
}

function valueIn(kind: string, bytes: Uint8Array, what: string): unknown {
  try {
    const container = decodeContainer(gunzipSync(bytes, { maxOutputLength: BYTES_MAX }), kind, z.strictObject({}));
    const json = new TextDecoder().decode(arrayOf(container, "json", { dtypes: ["u8"] }));
    return JSON.parse(json, (_, value) => (value === null ? value : (container.arrays.get(value.array) ?? value)));
  } catch (cause) {
    throw new FormatError(`${what} cannot be read: not a file of this trainer.`, { cause });
  }
}
