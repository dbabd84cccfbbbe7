/**
 * The protobuf encoding of the ONNX messages that are written here (onnx.proto of ONNX 1.16): ModelProto, GraphProto,
 * NodeProto, AttributeProto, TensorProto, ValueInfoProto. The tensor types have the numbers of onnx.proto.
 */
export const DATA_TYPES = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int32: 6,
  int64: 7,
  bool: 9,
} as const;
export type DataType = keyof typeof DATA_TYPES;

type Field = Uint8Array;

export const varint = (field: number, value: number | bigint): Field =>
  concat([varintBytes((field << 3) | 0), varintBytes(value)]);
export const float = (field: number, value: number): Field =>
  concat([varintBytes((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)]);
export const bytes = (field: number, value: Uint8Array): Field =>
  concat([varintBytes((field << 3) | 2), varintBytes(value.length), value]);
export const text = (field: number, value: string): Field => bytes(field, new TextEncoder().encode(value));
export const message = (field: number, fields: readonly Field[]): Field => bytes(field, concat(fields));

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Base-128, least significant group first; negative numbers as 64-bit two's complement. */
function varintBytes(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    out.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Uint8Array.from(out);
}
