import type { ExportedModel, FittedModel, ServingBudget } from "../model.ts";
import { type GraphBuilder, graphBuilder } from "../numerics/onnx/graph.ts";
import type { DataType } from "../numerics/onnx/proto.ts";

/** The names of a scoring graph's inputs. */
export type HistoryInputs = {
  readonly items: string;
  /** Declares `ages_days` when first asked for. */
  readonly ages: () => string;
};

/** What one part of a scoring graph answers, the files it names and what it left out. */
export type GraphPart = {
  /** float32 [itemCount] */
  readonly scores: string;
  readonly weights: ExportedModel["weights"];
  readonly truncation: string;
};

/** A model as part of a larger graph. `prefix` begins the names of its files, so that those of two parts differ. */
export type AppendScores = (graph: GraphBuilder, inputs: HistoryInputs, budget: PartBudget) => GraphPart;
/** A fitted model whose scoring can be part of a blend's. */
export type BlendableModel = FittedModel & {
  readonly append: AppendScores;
  /** Bytes that its files take at least; absent where a budget below that is refused. */
  readonly bytesLeast?: () => number;
};
export type PartBudget = ServingBudget & { readonly prefix: string };

/** The graph of one model. */
export function exportScores(name: string, itemCount: number, append: AppendScores) {
  return (budget: ServingBudget): ExportedModel => {
    const graph = graphBuilder(name);
    const items = graph.input("items", "int32", ["L"]);
    let ages: string | undefined;
    const inputs: HistoryInputs = {
      items,
      ages: () => {
        ages ??= graph.input("ages_days", "float32", ["L"]);
        return ages;
      },
    };
    const part = append(graph, inputs, { ...budget, prefix: "" });
    graph.output("scores", part.scores, "float32", [itemCount]);
    return { graph: graph.build(), weights: part.weights, truncation: part.truncation };
  };
}

export type FileBox = {
  /** Puts data into a file beside the graph and gives the tensor's name. */
  readonly external: (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
};

export function fileBox(graph: GraphBuilder, prefix: string): FileBox {
  const files: { path: string; bytes: Uint8Array }[] = [];
  return {
    files,
    external(name, type, dims, data) {
      const path = `${prefix}${name}.bin`;
      files.push({ path, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
      return graph.external(path, type, dims);
    },
  };
}
