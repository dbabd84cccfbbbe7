import type { AppendScores, ExportedModel, ServingBudget } from "../model.ts";
import { type GraphBuilder, graphBuilder } from "../numerics/onnx/graph.ts";
import type { DataType } from "../numerics/onnx/proto.ts";

/** Makes the `export` of a model from its `append`: a graph that holds this model alone. */
export function exportScores(name: string, itemCount: number, append: AppendScores) {
  return (budget: ServingBudget): ExportedModel => {
    const graph = graphBuilder(name);
    const part = append(graph, graph.input("items", "int32", ["L"]), { ...budget, prefix: "" });
    graph.output("scores", part.scores, "float32", [itemCount]);
    const { weights, truncation, recipe } = part;
    return { graph: graph.build(), weights, truncation, ...(recipe && { recipe }) };
  };
}

export type FileBox = {
  /** Puts data into a file beside the graph and returns the tensor's name. */
  readonly external: (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;
  /** The path of the file of that name. */
  readonly pathOf: (name: string) => string;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
};

/** Collects the weight files of one part of a graph. */
export function fileBox(graph: GraphBuilder, prefix: string): FileBox {
  const files: { path: string; bytes: Uint8Array }[] = [];
  const pathOf = (name: string) => `${prefix}${name}.bin`;
  return {
    files,
    pathOf,
    external(name, type, dims, data) {
      const path = pathOf(name);
      files.push({ path, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
      return graph.external(path, type, dims);
    },
  };
}
