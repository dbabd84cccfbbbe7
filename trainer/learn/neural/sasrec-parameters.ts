import { type Parameter, type Parameters, parameter } from "../numerics/autodiff/parameters.ts";
import { newTape } from "../numerics/autodiff/tape.ts";
import { graphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import { normal } from "../numerics/seeded-random.ts";
import { FEATURE_TABLE, ITEM_TABLE } from "./item-vectors.ts";
import { NO_DROPOUT, type TransformerShape, transformer } from "./transformer.ts";

export type FirstParameters = {
  /** True: only vectors with a gradient are updated. */
  readonly lazy?: boolean;
  /** Absent or 0 without item attributes. */
  readonly featureCount?: number;
  /** What item vectors begin as, at unit length; zeros and undefined: random. [itemCount * width] */
  readonly vectors?: Float32Array | undefined;
};

/**
 * Initial parameters, in the order in which the network declares them. Matrices have variance 1 / inputs, so that layers
 * keep the size of their inputs. Random vectors of items and features are small, gains 1 and biases 0.
 */
export function freshParameters(
  shape: TransformerShape,
  random: () => number,
  options: FirstParameters = {},
): Parameters {
  const { itemCount, width } = shape;
  const parameters = new Map<string, Parameter>();
  const vectors = (count: number, given?: Float32Array) =>
    parameter([count, width], (i) => GIVEN_LENGTH * (given?.[i] ?? 0) || VECTOR_DEVIATION * normal(random), options);
  parameters.set(ITEM_TABLE, vectors(itemCount, options.vectors));
  if (options.featureCount) parameters.set(FEATURE_TABLE, vectors(options.featureCount));
  const graph = graphBuilder("declarations");
  const tape = newTape(graph, (name, dims) => {
    parameters.set(name, parameter(dims as readonly number[], initialValue(name, dims as readonly number[], random)));
    return name;
  });
  const size = integers(graph, 1, 1);
  transformer(tape, shape, { vectors: tape.constant("vectors"), size, masks: NO_DROPOUT });
  return parameters;
}

/** Standard deviation of the vectors of items and features. */
const VECTOR_DEVIATION = 0.02;
/** Length of item vectors that are given (LOG.md, "First vectors of the graph in sasrec"). */
const GIVEN_LENGTH = 0.5;

function initialValue(name: string, dims: readonly number[], random: () => number): (index: number) => number {
  if (name.endsWith(".gain")) return () => 1;
  if (dims.length === 1 || name.endsWith("distance_bias")) return () => 0;
  const deviation = 1 / Math.sqrt(dims[0]!);
  return () => deviation * normal(random);
}
