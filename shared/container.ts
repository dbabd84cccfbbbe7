/** Signatures first; the format follows. */
import type { z } from "zod";

/** The element types that a container can hold. */
export type TypedArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

export type Container<Metadata> = {
  readonly metadata: Metadata;
  readonly arrays: Readonly<Record<string, TypedArray>>;
};

export function encodeContainer(_content: {
  readonly kind: string;
  readonly metadata: unknown;
  readonly arrays: Readonly<Record<string, TypedArray>>;
}): Uint8Array {
  throw new Error("not built yet");
}

/** Throws FormatError. The arrays are views of `bytes`. */
export function decodeContainer<Metadata>(
  _bytes: Uint8Array,
  _kind: string,
  _schema: z.ZodType<Metadata>,
): Container<Metadata> {
  throw new Error("not built yet");
}
