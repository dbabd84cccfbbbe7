import type { GraphBuilder } from "../onnx/graph.ts";
import { scalar } from "./graph-shorthand.ts";
import type { Recorded, Tensor } from "./recorded.ts";

/** A piece of one parameter's gradient, by the names of graph values. The whole gradient is the sum of its pieces. */
export type GradientPart =
  | { readonly kind: "dense"; readonly parameter: string; readonly gradient: string }
  | { readonly kind: "rows"; readonly parameter: string; readonly indices: string; readonly rows: string };

type Walk = {
  readonly graph: GraphBuilder;
  readonly parameters: ReadonlyMap<string, Tensor>;
  readonly recorded: readonly Recorded[];
  /** Filled by the operators while the walk goes on. */
  readonly rowParts: readonly { readonly table: Tensor; readonly indices: string; readonly rows: string }[];
  readonly loss: Tensor;
};

/** Adds the nodes that compute d loss / d parameter, last operator first, and names the results. */
export function gradientGraph({ graph, parameters, recorded, rowParts, loss }: Walk): GradientPart[] {
  const reached = new Map<Tensor, string[]>([[loss, [scalar(graph, 1)]]]);
  const wanted = needingGradient(parameters, recorded);
  const total = (parts: readonly string[]) => (parts.length === 1 ? parts[0]! : graph.op("Sum", parts));

  for (const { output, inputs, backward } of [...recorded].reverse()) {
    const parts = reached.get(output);
    if (!parts) continue; // does not lead to the loss
    const gradients = backward(total(parts));
    for (const [i, input] of inputs.entries()) {
      const gradient = gradients[i];
      if (gradient === undefined || !wanted.has(input)) continue;
      reached.set(input, [...(reached.get(input) ?? []), gradient]);
    }
  }

  const parameterName = new Map([...parameters].map(([name, tensor]) => [tensor, name]));
  const dense = [...parameters].flatMap(([parameter, tensor]): GradientPart[] => {
    const parts = reached.get(tensor);
    return parts ? [{ kind: "dense", parameter, gradient: total(parts) }] : [];
  });
  const rows = rowParts.map(({ table, indices, rows }): GradientPart => {
    return { kind: "rows", parameter: parameterName.get(table)!, indices, rows };
  });
  return [...dense, ...rows];
}

/** The tensors through which a gradient reaches a parameter. Names of dead backward nodes cost nothing: ORT drops them. */
function needingGradient(parameters: ReadonlyMap<string, Tensor>, recorded: readonly Recorded[]): Set<Tensor> {
  const wanted = new Set(parameters.values());
  for (const { output, inputs } of recorded) if (inputs.some((input) => wanted.has(input))) wanted.add(output);
  return wanted;
}
