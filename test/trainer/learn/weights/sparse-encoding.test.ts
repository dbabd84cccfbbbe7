import fc from "fast-check";
import { expect, test } from "vitest";
import { codebook } from "../../../../trainer/learn/weights/codebook.ts";
import {
  type EncodedSparse,
  encodeSparse,
  levelCount,
  sparseBytes,
} from "../../../../trainer/learn/weights/sparse-encoding.ts";
import type { SparseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

/** Rows of the given lengths, with columns from the whole range. */
function drawnMatrix(lengths: readonly number[], columnCount: number): SparseWeights {
  const start = Uint32Array.from([0, ...lengths]);
  for (let row = 0; row < lengths.length; row++) start[row + 1]! += start[row]!;
  const size = start[lengths.length]!;
  const columns = Int32Array.from({ length: size }, (_, i) => (i * 2_654_435_761) % columnCount);
  const values = Float32Array.from({ length: size }, (_, i) => Math.sin(i + 1) / (1 + (i % 50)));
  return { kind: "sparse", rowCount: lengths.length, columnCount, start, columns, values };
}

function decodedRow({ blockStart, offset, entries }: EncodedSparse, row: number): [number, number][] {
  const startOf = (of: number) => blockStart[Math.floor(of / 64)]! + offset[of]!;
  const found: [number, number][] = [];
  for (let at = startOf(row); at < startOf(row + 1); at++) {
    if (entries.kind === "exact") found.push([entries.columns[at]!, entries.values[at]!]);
    else {
      const code = entries.codes[at]!;
      found.push([entries.low[at]! + entries.highs[code]!, entries.levels[code]!]);
    }
  }
  return found;
}

const bytesOf = ({ blockStart, offset, entries }: EncodedSparse) =>
  [blockStart, offset, ...Object.values(entries)]
    .filter((file) => ArrayBuffer.isView(file))
    // Levels and highs are constants of the graph, not files.
    .filter((file) => entries.kind === "exact" || (file !== entries.levels && file !== entries.highs))
    .reduce((sum, { byteLength }) => sum + byteLength, 0);

test("every column and the nearest level of every weight are read back, from as many bytes as predicted", () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 80 });
  const columnCounts = fc.constantFrom(1, 1000, 65_536, 65_537, 700_000, 2 ** 20, 2 ** 20 + 1, 2 ** 24);
  fc.assert(
    fc.property(lengths, columnCounts, fc.boolean(), (drawn, columnCount, isExact) => {
      const matrix = drawnMatrix(drawn, columnCount);
      const encoded = encodeSparse(matrix, isExact);
      expect(bytesOf(encoded)).toBe(sparseBytes(matrix, matrix.values.length, isExact));
      const { levels, codeOf } = codebook(matrix.values, levelCount(columnCount));
      const heldAs = (value: number) => (isExact ? value : levels[codeOf(value)]!);
      for (let row = 0; row < drawn.length; row++) {
        const [from, to] = [matrix.start[row]!, matrix.start[row + 1]!];
        const found = decodedRow(encoded, row);
        if (found.length !== to - from) throw new Error(`Row ${row} has ${found.length} entries, not ${to - from}.`);
        for (const [i, [column, value]] of found.entries()) {
          const original = matrix.values[from + i]!;
          if (column !== matrix.columns[from + i] || value !== heldAs(original))
            throw new Error(`Entry ${i} of row ${row}: column ${column}, ${value} for ${original}.`);
        }
      }
    }),
    { numRuns: 20 },
  );
});

test("a coded entry takes three bytes; the more columns, the fewer levels", () => {
  expect([1000, 65_536, 65_537, 131_073, 1e6, 2 ** 20, 2 ** 24].map(levelCount)).toEqual([
    256, 256, 128, 85, 16, 16, 1,
  ]);
  const entryBytes = (columnCount: number, isExact: boolean) =>
    sparseBytes({ rowCount: 1, columnCount }, 1, isExact) - sparseBytes({ rowCount: 1, columnCount }, 0, isExact);
  expect([1000, 1e6, 2 ** 24].map((count) => entryBytes(count, true))).toEqual([6, 8, 8]);
  expect([1000, 1e6, 2 ** 24].map((count) => entryBytes(count, false))).toEqual([3, 3, 3]);
});
