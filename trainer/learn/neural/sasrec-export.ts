import type { GraphPart, PartBudget } from "../model.ts";
import { newTape } from "../numerics/autodiff/tape.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import type { NetworkExport, Trained } from "./fitted-network.ts";
import { codedItemBytes, newestEntries, serveItems } from "./item-matrix.ts";
import { ITEM_TABLE } from "./item-vectors.ts";
import { NO_DROPOUT, type TransformerShape, transformer } from "./transformer.ts";

/** Adds the trained network to a scoring graph: item vectors as files beside the graph, all other parameters inside it. */
export function appendSasrec(
  graph: GraphBuilder,
  items: string,
  { shape, parameters }: Trained<TransformerShape>,
  budget: PartBudget,
): GraphPart {
  const { itemCount, width, length } = shape;
  const newest = newestEntries(graph, items, length);
  const served = serveItems(graph, { itemCount, width, values: parameters.get(ITEM_TABLE)!.value }, budget);
  const tape = newTape(graph, (name, dims) =>
    graph.constant({ type: "float32", dims: dims as readonly number[], data: parameters.get(name)!.value }),
  );
  const size = graph.op("Concat", [integers(graph, 1), graph.op("Shape", [newest])], { axis: { int: 0 } });
  const vectors = tape.constant(served.rowsOf(newest));
  const hidden = transformer(tape, shape, { vectors, size, masks: NO_DROPOUT });
  const last = graph.op("Gather", [hidden.value, integers(graph, -1)]);
  return { scores: served.scoresOf(last), weights: served.files, truncation: served.truncation };
}

export const SASREC_EXPORT: NetworkExport<TransformerShape> = { append: appendSasrec, bytesCoded: codedItemBytes };
