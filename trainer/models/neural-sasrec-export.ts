import { integers } from "../autodiff/constants.ts";
import { newTape } from "../autodiff/tape.ts";
import { graphBuilder } from "../onnx/graph.ts";
import type { ExportedModel, ServingBudget } from "./model.ts";
import type { Averages } from "./neural-averages.ts";
import { serveItems } from "./neural-item-matrix.ts";
import { ITEM_TABLE } from "./neural-sasrec-graph.ts";
import { NO_DROPOUT, type TransformerShape, transformer } from "./neural-transformer.ts";

/** The network that was trained, for one history: items beside the model file, everything else inside it. */
export function exportSasrec(shape: TransformerShape, parameters: Averages, budget: ServingBudget): ExportedModel {
  const { itemCount, width } = shape;
  const graph = graphBuilder("sasrec");
  const items = graph.input("items", "int32", ["L"]);
  const matrix = { itemCount, width, values: parameters.get(ITEM_TABLE)!.value };
  const served = serveItems(graph, matrix, { ...budget, name: "items" });
  const tape = newTape(graph, (name, dims) =>
    graph.constant({ type: "float32", dims: dims as readonly number[], data: parameters.get(name)!.value }),
  );
  const size = graph.op("Concat", [integers(graph, 1), graph.op("Shape", [items])], { axis: { int: 0 } });
  const vectors = tape.constant(served.rowsOf(items));
  const hidden = transformer(tape, shape, { vectors, size, masks: NO_DROPOUT });
  const newest = graph.op("Gather", [hidden.value, integers(graph, -1)]);
  graph.output("scores", served.scoresOf(newest), "float32", [itemCount]);
  return { graph: graph.build(), weights: served.weights, truncation: served.truncation };
}
