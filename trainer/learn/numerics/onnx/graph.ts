import { bytes, concat, DATA_TYPES, type DataType, float, message, text, varint } from "./proto.ts";

/** A size, or the name of a symbolic dimension. */
export type Dimension = number | string;
export type TensorValue = {
  readonly type: DataType;
  readonly dims: readonly number[];
  /** Little-endian, row-major. */
  readonly data: ArrayBufferView;
};
export type Attribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly ints: readonly number[] }
  | { readonly text: string };

/** `dims` is null when the rank is unknown. */
export type ValueInfo = { readonly name: string; readonly type: DataType; readonly dims: readonly Dimension[] | null };

const OPSET = 18;
const IR_VERSION = 9;
const ATTRIBUTE_TYPES = { float: 1, int: 2, text: 3, ints: 7 } as const;

/** Collects the nodes of a graph in the order of their computation. Values are known by their names. */
export type GraphBuilder = {
  /** Declares an input of the graph; once, however often it is called with the same name. */
  input(name: string, type: DataType, dims: readonly Dimension[]): string;
  /** Adds a node with one output and returns the output's name. An empty input name stands for an absent optional input. */
  op(
    type: string,
    inputs: readonly string[],
    attributes?: Readonly<Record<string, Attribute>>,
    domain?: string,
  ): string;
  /** Adds a node with several outputs. */
  ops(
    type: string,
    inputs: readonly string[],
    outputCount: number,
    attributes?: Readonly<Record<string, Attribute>>,
    domain?: string,
  ): string[];
  /** Adds a small tensor to the model file. */
  constant(value: TensorValue): string;
  /** Declares a large tensor in the file at `path` beside the model file (ONNX external data). */
  external(path: string, type: DataType, dims: readonly number[]): string;
  /** Declares a value as an output; with `dims` null, the runtime infers its shape. */
  output(name: string, source: string, type: DataType, dims: readonly Dimension[] | null): void;
  /** The bytes of the ModelProto. */
  build(): Uint8Array;
};

export function graphBuilder(graphName: string): GraphBuilder {
  const nodes: Uint8Array[] = [];
  const initializers: Uint8Array[] = [];
  const inputs = new Map<string, Uint8Array>();
  const outputs: Uint8Array[] = [];
  const domains = new Set<string>();
  let valueCount = 0;
  const fresh = (stem: string) => `${stem}_${valueCount++}`;

  const builder: GraphBuilder = {
    input(name, type, dims) {
      inputs.set(name, message(11, valueInfo({ name, type, dims })));
      return name;
    },
    op(type, from, attributes = {}, domain = "") {
      return builder.ops(type, from, 1, attributes, domain)[0]!;
    },
    ops(type, from, outputCount, attributes = {}, domain = "") {
      const to = Array.from({ length: outputCount }, () => fresh(type.toLowerCase()));
      if (domain) domains.add(domain);
      nodes.push(message(1, nodeProto(type, from, to, attributes, domain)));
      return to;
    },
    constant(value) {
      const name = fresh("constant");
      initializers.push(message(5, tensorProto(name, value)));
      return name;
    },
    external(path, type, dims) {
      const name = fresh("weights");
      initializers.push(message(5, externalTensor(name, path, type, dims)));
      return name;
    },
    output(name, source, type, dims) {
      nodes.push(message(1, nodeProto("Identity", [source], [name], {}, "")));
      outputs.push(message(12, valueInfo({ name, type, dims })));
    },
    build() {
      const graph = message(7, [...nodes, text(2, graphName), ...initializers, ...inputs.values(), ...outputs]);
      return modelOf(graph, domains);
    },
  };
  return builder;
}

const modelOf = (graph: Uint8Array, domains: Iterable<string>) => {
  const opsets = ["", ...domains].map((domain) => message(8, [text(1, domain), varint(2, domain === "" ? OPSET : 1)]));
  return concat([varint(1, IR_VERSION), text(2, "shortlist"), graph, ...opsets]);
};

/** The parts of a model, as fields of their messages. */
export type ModelParts = {
  readonly name: string;
  /** The fields of each node. */
  readonly nodes: readonly (readonly Uint8Array[])[];
  /** Encoded with their field's number. */
  readonly initializers: readonly Uint8Array[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly domains: readonly string[];
};

/** The bytes of a ModelProto of these parts. */
export function modelBytes({ name, nodes, initializers, inputs, outputs, domains }: ModelParts): Uint8Array {
  const graph = message(7, [
    ...nodes.map((fields) => message(1, fields)),
    text(2, name),
    ...initializers,
    ...inputs.map((info) => message(11, valueInfo(info))),
    ...outputs.map((info) => message(12, valueInfo(info))),
  ]);
  return modelOf(graph, domains);
}

/** An attribute as a field of its node. */
export const attributeField = (name: string, value: Attribute) => message(5, attributeProto(name, value));

/** A small tensor as a field of its graph. */
export const initializerField = (name: string, value: TensorValue) => message(5, tensorProto(name, value));

/** A tensor whose data are in a file beside the graph, as a field of its graph. */
export const externalField = (name: string, path: string, type: DataType, dims: readonly number[]) =>
  message(5, externalTensor(name, path, type, dims));

const nodeProto = (
  type: string,
  from: readonly string[],
  to: readonly string[],
  attributes: Readonly<Record<string, Attribute>>,
  domain: string,
) => [
  ...from.map((name) => text(1, name)),
  ...to.map((name) => text(2, name)),
  text(4, type),
  ...Object.entries(attributes).map(([name, value]) => attributeField(name, value)),
  ...(domain ? [text(7, domain)] : []),
];

function attributeProto(name: string, value: Attribute): Uint8Array[] {
  const head = text(1, name);
  if ("int" in value) return [head, varint(3, value.int), varint(20, ATTRIBUTE_TYPES.int)];
  if ("float" in value) return [head, float(2, value.float), varint(20, ATTRIBUTE_TYPES.float)];
  if ("ints" in value) return [head, ...value.ints.map((i) => varint(8, i)), varint(20, ATTRIBUTE_TYPES.ints)];
  return [head, text(4, value.text), varint(20, ATTRIBUTE_TYPES.text)];
}

const tensorProto = (name: string, { type, dims, data }: TensorValue) => [
  ...dims.map((dim) => varint(1, dim)),
  varint(2, DATA_TYPES[type]),
  text(8, name),
  bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
];

const EXTERNAL = 1;
const externalTensor = (name: string, path: string, type: DataType, dims: readonly number[]) => [
  ...dims.map((dim) => varint(1, dim)),
  varint(2, DATA_TYPES[type]),
  text(8, name),
  message(13, [text(1, "location"), text(2, path)]),
  varint(14, EXTERNAL),
];

function valueInfo({ name, type, dims }: ValueInfo): Uint8Array[] {
  const shape = dims?.map((dim) => message(1, [typeof dim === "number" ? varint(1, dim) : text(2, dim)]));
  const tensorType = [varint(1, DATA_TYPES[type]), ...(shape ? [message(2, shape)] : [])];
  return [text(1, name), message(2, [message(1, tensorType)])];
}
