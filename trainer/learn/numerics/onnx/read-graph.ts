/** Reads ONNX models that graph.ts and proto.ts have written, as far as a change of their graphs needs it. */
import { assert } from "../../../../shared/assert.ts";
import { DATA_TYPES } from "./proto.ts";

/** A field of a protobuf message: a number, or the bytes of a text or message. */
type Field = { readonly field: number; readonly number: bigint; readonly bytes: Uint8Array; readonly raw: Uint8Array };

export type ReadNode = {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The fields of the node except its inputs and outputs, encoded. */
  readonly rest: readonly Uint8Array[];
};

export type ReadTensor = {
  readonly name: string;
  readonly dims: readonly number[];
  /** The file that has its numbers. Absent: they are in the graph. */
  readonly path: string | undefined;
  /** Its numbers, if they are int64 and in the graph. */
  readonly integers: readonly number[] | undefined;
  readonly raw: Uint8Array;
};

export type ReadGraph = {
  readonly nodes: readonly ReadNode[];
  readonly initializers: readonly ReadTensor[];
  readonly inputs: readonly string[];
  /** The domains of operators besides ONNX's own. */
  readonly domains: readonly string[];
};

export function readGraph(model: Uint8Array): ReadGraph {
  const fields = fieldsOf(model);
  const graph = fieldsOf(one(fields, 7));
  const texts = (list: readonly Field[], field: number) =>
    list.filter((f) => f.field === field).map(({ bytes }) => text(bytes));
  return {
    nodes: graph
      .filter(({ field }) => field === 1)
      .map(({ bytes }) => {
        const node = fieldsOf(bytes);
        const rest = node.filter(({ field }) => field > 2).map(({ raw }) => raw);
        return { type: texts(node, 4)[0]!, inputs: texts(node, 1), outputs: texts(node, 2), rest };
      }),
    initializers: graph
      .filter(({ field }) => field === 5)
      .map(({ bytes, raw }) => {
        const tensor = fieldsOf(bytes);
        const dims = tensor.filter(({ field }) => field === 1).map(({ number }) => Number(number));
        const location = tensor.find(({ field }) => field === 13);
        const path = location && texts(fieldsOf(location.bytes), 2)[0];
        const isIntegers = tensor.some(({ field, number }) => field === 2 && Number(number) === DATA_TYPES.int64);
        const data = isIntegers ? tensor.find(({ field }) => field === 9)?.bytes.slice() : undefined;
        const integers = data && Array.from(new BigInt64Array(data.buffer), Number);
        return { name: texts(tensor, 8)[0]!, dims, path, integers, raw };
      }),
    inputs: graph.filter(({ field }) => field === 11).map(({ bytes }) => texts(fieldsOf(bytes), 1)[0]!),
    domains: fields
      .filter(({ field }) => field === 8)
      .flatMap(({ bytes }) => texts(fieldsOf(bytes), 1))
      .filter(Boolean),
  };
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function one(fields: readonly Field[], field: number): Uint8Array {
  const found = fields.find((f) => f.field === field);
  assert(found, `a model has the field ${field}`);
  return found.bytes;
}

const [VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES] = [0, 1, 2, 5];

function fieldsOf(message: Uint8Array): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const begin = at;
    const key = Number(varint());
    const wire = key & 7;
    let number = 0n;
    let bytes = message.subarray(at, at);
    if (wire === VARINT) number = varint();
    else {
      const size = wire === LENGTH ? Number(varint()) : wire === FOUR_BYTES ? 4 : 8;
      assert(wire === LENGTH || wire === FOUR_BYTES || wire === EIGHT_BYTES, "a field has a known wire type");
      bytes = message.subarray(at, at + size);
      at += size;
    }
    fields.push({ field: key >>> 3, number, bytes, raw: message.subarray(begin, at) });
  }
  return fields;
}
