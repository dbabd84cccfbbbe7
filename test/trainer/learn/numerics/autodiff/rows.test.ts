import { test } from "vitest";
import { multiply } from "../../../../../trainer/learn/numerics/autodiff/pointwise.ts";
import { gatherRows, selectRows } from "../../../../../trainer/learn/numerics/autodiff/rows.ts";
import { checkGradients, int32 } from "./gradient-check.ts";

test("gradients of gathered rows add up where an index occurs three times", () =>
  checkGradients({
    shapes: { table: [5, 2] },
    inputs: { indices: int32(3, 1, 3, 0, 3) },
    outputShape: [5, 2],
    build: (tape, { table }) => {
      const rows = gatherRows(tape, table!, "indices");
      return multiply(tape, rows, rows);
    },
  }));

test("gradients of selected rows: those left out get none", () =>
  checkGradients({
    shapes: { x: [4, 3] },
    inputs: { positions: int32(3, 0), inverse: int32(1, 2, 2, 0) },
    outputShape: [2, 3],
    build: (tape, { x }) => selectRows(tape, multiply(tape, x!, x!), { positions: "positions", inverse: "inverse" }),
  }));
