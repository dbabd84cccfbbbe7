import { type ItemMatrix, itemMatrixBytes } from "./byte-matrix.ts";
import { denseBytes, type EncodedDense, encodeDense } from "./dense-encoding.ts";
import { type DenseWeights, denseWeights, type FactorWeights } from "./weight-matrix.ts";

/**
 * A factorisation as its files hold it. In codes, the right factor is the items' vectors as `serveBytes` stores them. The runtime would
 * compute float32 numbers from codes of any other form when it opens the graph, since they do not depend on its inputs. 300,000 items of 39
 * numbers then grew the heap of onnxruntime-web by 286 MB.
 */
export type EncodedFactors = {
  readonly kind: "factors";
  readonly left: EncodedDense;
  readonly right: EncodedDense | ({ readonly kind: "bytes" } & ItemMatrix);
};

/** Bytes of the first `rank` vectors. */
export const factorBytes = ({ rowCount, columnCount }: FactorWeights, rank: number, isExact: boolean): number =>
  denseBytes(rowCount, rank, isExact) +
  (isExact ? denseBytes(rank, columnCount, isExact) : itemMatrixBytes(columnCount, rank));

export function encodeFactors({ left, right }: FactorWeights, rank: number, isExact: boolean): EncodedFactors {
  const cut = { left: firstColumns(left, rank), right: firstRows(right, rank) };
  if (isExact) return { kind: "factors", left: encodeDense(cut.left, true), right: encodeDense(cut.right, true) };
  const balance = balanceOf(cut.left, cut.right);
  const { rowCount } = left;
  const balanced = denseWeights(rowCount, rank, new Float32Array(rowCount * rank));
  for (let at = 0; at < balanced.values.length; at++) {
    const k = at % rank;
    balanced.values[at] = cut.left.values[at]! * balance[k]!;
  }
  const values = new Float32Array(right.columnCount * rank);
  for (let k = 0; k < rank; k++)
    for (let item = 0; item < right.columnCount; item++)
      values[item * rank + k] = cut.right.values[k * right.columnCount + item]! / balance[k]!;
  return {
    kind: "factors",
    left: encodeDense(balanced, false),
    right: { kind: "bytes", itemCount: right.columnCount, width: rank, values },
  };
}

/**
 * What to multiply each number of the left vectors with, and to divide those of the right ones by, so that both are equally large on
 * average. Both a history's vector and the items' vectors are rounded to bytes, and the largest number of a vector sets the step.
 */
function balanceOf(left: DenseWeights, right: DenseWeights): Float64Array {
  const rank = right.rowCount;
  const [ofLeft, ofRight] = [new Float64Array(rank), new Float64Array(rank)];
  for (const [at, value] of left.values.entries()) ofLeft[at % rank]! += value ** 2;
  for (const [at, value] of right.values.entries()) ofRight[Math.floor(at / right.columnCount)]! += value ** 2;
  return ofLeft.map((squares, k) => (squares > 0 && ofRight[k]! > 0 ? (ofRight[k]! / squares) ** 0.25 : 1));
}

function firstRows(matrix: DenseWeights, count: number): DenseWeights {
  return denseWeights(count, matrix.columnCount, matrix.values.subarray(0, count * matrix.columnCount));
}

function firstColumns({ rowCount, columnCount, values }: DenseWeights, count: number): DenseWeights {
  if (count === columnCount) return denseWeights(rowCount, count, values);
  const kept = new Float32Array(rowCount * count);
  for (let row = 0; row < rowCount; row++) {
    kept.set(values.subarray(row * columnCount, row * columnCount + count), row * count);
  }
  return denseWeights(rowCount, count, kept);
}
