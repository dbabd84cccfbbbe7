import fc from "fast-check";
import { expect, test } from "vitest";
import { codebook } from "../../../../trainer/learn/weights/codebook.ts";
import {
  type EncodedSparse,
  type EntryForm,
  encodeSparse,
  levelCount,
  sparseBytes,
} from "../../../../trainer/learn/weights/sparse-encoding.ts";
import type { SparseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const FORMS: readonly EntryForm[] = ["exact", "coded", "packed"];

/** Rows of some weights, their columns spread over all there are. */
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
      const upper = entries.high ? 65_536 * entries.high[at]! : entries.highs[code]!;
      found.push([entries.low[at]! + upper, entries.levels[code]!]);
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

test("every form gives back every column, and the nearest of the levels it has room for, in the bytes foretold", () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 150 });
  const columnCounts = fc.constantFrom(1, 1000, 65_536, 65_537, 700_000, 2 ** 20, 2 ** 20 + 1, 2 ** 24);
  fc.assert(
    fc.property(lengths, columnCounts, fc.constantFrom(...FORMS), (drawn, columnCount, form) => {
      const matrix = drawnMatrix(drawn, columnCount);
      const encoded = encodeSparse(matrix, form);
      expect(bytesOf(encoded)).toBe(sparseBytes(matrix, matrix.values.length, form));
      const { levels, codeOf } = codebook(matrix.values, Math.min(256, levelCount(columnCount, form)));
      const heldAs = (value: number) => (form === "exact" ? value : levels[codeOf(value)]!);
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
    { numRuns: 40 },
  );
});

test("three bytes an entry up to 2^20 columns, the room of the weight giving way to that of the column", () => {
  const levels = (columnCount: number) => levelCount(columnCount, "packed");
  expect([1000, 65_536, 65_537, 131_073, 1e6, 2 ** 20].map(levels)).toEqual([256, 256, 128, 85, 16, 16]);
  expect(levels(2 ** 20 + 1)).toBe(256); // in a fourth byte
  const entry = (columnCount: number, form: EntryForm) =>
    sparseBytes({ rowCount: 1, columnCount }, 1, form) - sparseBytes({ rowCount: 1, columnCount }, 0, form);
  expect([1000, 1e6, 2 ** 21].map((count) => FORMS.map((form) => entry(count, form)))).toEqual([
    [6, 3, 3],
    [8, 4, 3],
    [8, 4, 4],
  ]);
});
