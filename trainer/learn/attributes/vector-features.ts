import type { VectorColumn } from "../../../shared/attributes.ts";
import type { AttributeColumn } from "../../read/dataset/dataset.ts";
import type { Gemm } from "../numerics/linear-algebra/gemm.ts";
import { type LeadingEigen, leadingEigen } from "../numerics/linear-algebra/leading-eigen.ts";
import type { Matrix } from "../numerics/linear-algebra/matrix.ts";
import { seededRandom } from "../numerics/seeded-random.ts";
import { sparseBuilder } from "../weights/sparse-builder.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";

/** Number of leading directions that are kept of an attribute's vectors: more were no better (LOG.md, "Words and vectors of items"). */
const DIRECTIONS_MAX = 64;
/** Items whose vectors determine the directions. */
const SAMPLE_MAX = 10_000;
const ROWS_PER_BLOCK = 4096;
/** Length of an attribute's vectors beside the other features, which have length 1 together. From .5 to 1 made no difference. */
const VECTOR_LENGTH = 0.5;

const isVector = (column: AttributeColumn): column is VectorColumn => column.type === "Vector";

/** Whether the items have vectors that can describe them. */
export const hasVectors = (columns: readonly AttributeColumn[]): boolean => columns.some(isVector);

/** Number of features that the items' vectors add. */
export const vectorFeatureCount = (columns: readonly AttributeColumn[]): number =>
  columns.filter(isVector).reduce((sum, { width }) => sum + Math.min(width, DIRECTIONS_MAX), 0);

/** 1: the item has a vector. [itemCount] */
export const withVector = (columns: readonly AttributeColumn[], itemCount: number): Uint8Array =>
  Uint8Array.from({ length: itemCount }, (_, item) =>
    columns.some((column) => isVector(column) && !Number.isNaN(column.values[item * column.width]!)) ? 1 : 0,
  );

/**
 * The features with those of the items' vectors as further columns: each vector along the leading directions of all vectors of its
 * attribute (principal components), scaled to one length. Rows have length 1 or are all zero. Entries may be negative.
 */
export async function addVectors(
  features: SparseWeights,
  columns: readonly AttributeColumn[],
  gemm: Gemm,
): Promise<SparseWeights> {
  const { rowCount, columnCount, start } = features;
  const parts: Matrix[] = [];
  for (const column of columns.filter(isVector)) parts.push(await principalRows(column, rowCount, gemm));
  const builder = sparseBuilder(rowCount, columnCount + parts.reduce((sum, part) => sum + part.columns, 0));
  for (let item = 0; item < rowCount; item++) {
    const rows = parts.map(({ columns: size, values }) => values.subarray(item * size, (item + 1) * size));
    const hasFeatures = start[item + 1]! > start[item]! ? 1 : 0;
    const described = rows.filter((row) => row.some((value) => value !== 0));
    const length = Math.sqrt(hasFeatures + described.length * VECTOR_LENGTH ** 2) || 1;
    for (let at = start[item]!; at < start[item + 1]!; at++)
      builder.add(features.columns[at]!, features.values[at]! / length);
    let first = columnCount;
    for (const row of rows) {
      if (row.some((value) => value !== 0))
        for (const [i, value] of row.entries()) builder.add(first + i, (VECTOR_LENGTH * value) / length);
      first += row.length;
    }
    builder.endRow();
  }
  return builder.build();
}

/** The vectors less their mean, along their leading directions, each scaled to length 1; zeros where one is missing. */
async function principalRows({ width, values }: VectorColumn, itemCount: number, gemm: Gemm): Promise<Matrix> {
  const present = Array.from({ length: itemCount }, (_, item) => item).filter(
    (item) => !Number.isNaN(values[item * width]!),
  );
  const size = Math.min(width, DIRECTIONS_MAX);
  const result = new Float32Array(itemCount * size);
  const step = Math.max(1, present.length / SAMPLE_MAX);
  const sampled = Array.from(
    { length: Math.min(present.length, SAMPLE_MAX) },
    (_, i) => present[Math.floor(i * step)]!,
  );
  const mean = new Float32Array(width);
  for (const item of sampled) for (let i = 0; i < width; i++) mean[i]! += values[item * width + i]! / sampled.length;
  const centred = (items: readonly number[]): Matrix => {
    const rows = new Float32Array(items.length * width);
    for (const [row, item] of items.entries())
      for (let i = 0; i < width; i++) rows[row * width + i] = values[item * width + i]! - mean[i]!;
    return { rows: items.length, columns: width, values: rows };
  };
  const directions = await leadingDirections(centred(sampled), size, gemm);
  for (let first = 0; first < present.length; first += ROWS_PER_BLOCK) {
    const items = present.slice(first, first + ROWS_PER_BLOCK);
    const along = await gemm.multiply({ a: centred(items), b: directions });
    for (const [row, item] of items.entries()) {
      const vector = along.values.subarray(row * size, (row + 1) * size);
      const length = Math.hypot(...vector) || 1;
      for (let i = 0; i < size; i++) result[item * size + i] = vector[i]! / length;
    }
  }
  return { rows: itemCount, columns: size, values: result };
}

/** [width, size]. Seeded, so that the same vectors give the same directions. */
async function leadingDirections(sample: Matrix, size: number, gemm: Gemm): Promise<LeadingEigen["vectors"]> {
  const apply = async (block: Matrix) =>
    await gemm.multiply({ a: sample, b: await gemm.multiply({ a: sample, b: block }), transposeA: true });
  const options = { size: sample.columns, count: size, random: seededRandom(1), gemm };
  return (await leadingEigen(apply, options)).vectors;
}
