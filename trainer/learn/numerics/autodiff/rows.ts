import { integers } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

/**
 * Rows of a parameter table: [rows, …] and indices of any shape → indices' shape × […]. The gradient comes back per
 * gathered row, never as a table: adding rows up is left to typed arrays (ScatterND with reduction=add is wrong for
 * duplicate indices on several threads, ScatterElements is 35 times slower).
 */
export function gatherRows(tape: Tape, table: Tensor, indices: string): Tensor {
  const output = { value: tape.graph.op("Gather", [table.value, indices]) };
  const backward = (rows: string) => {
    tape.rowGradient(table, { indices, rows });
    return [undefined];
  };
  return tape.record({ output, inputs: [table], backward });
}

/**
 * The rows `positions` of a computed tensor, no row twice: [rows, d] → [selected, d]. `inverse` [rows] says where each
 * row went: its place in `positions`, or `selected` (one past the end) for a row that was left out.
 */
export function selectRows(tape: Tape, x: Tensor, by: { positions: string; inverse: string }): Tensor {
  const { graph } = tape;
  const output = graph.op("Gather", [x.value, by.positions]);
  const backward = (dOutput: string) => {
    const withZeroRow = graph.op("Pad", [dOutput, integers(graph, 0, 0, 1, 0)]);
    return [graph.op("Gather", [withZeroRow, by.inverse])];
  };
  return tape.record({ output: { value: output }, inputs: [x], backward });
}
