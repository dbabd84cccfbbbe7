import { test } from "vitest";
import { poolRows } from "../../../../../trainer/learn/numerics/autodiff/pooling.ts";
import { gatherRows } from "../../../../../trainer/learn/numerics/autodiff/rows.ts";
import { checkGradients, int32 } from "./gradient-check.ts";

test("gradients of weighted sums of gathered rows, a row in several groups and twice in one", () =>
  checkGradients({
    shapes: { table: [4, 3], weights: [2, 3] },
    inputs: { members: int32(0, 2, 2, 3, 0, 1).reshape([2, 3]) as ReturnType<typeof int32> },
    outputShape: [2, 3],
    build: (tape, { table, weights }) => poolRows(tape, gatherRows(tape, table!, "members"), weights!),
  }));
