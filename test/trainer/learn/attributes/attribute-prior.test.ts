import fc from "fast-check";
import { expect, test } from "vitest";
import { priorBuilder } from "../../../../trainer/learn/attributes/attribute-prior.ts";
import { openGemm } from "../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import { rowSum } from "../../../../trainer/learn/weights/row-sum.ts";
import { sparseBuilder } from "../../../../trainer/learn/weights/sparse-builder.ts";
import { solvedLonghand } from "../../../fixtures/solved-longhand.ts";

type Rows = readonly (readonly number[])[];

const product = (a: Rows, b: Rows): number[][] =>
  a.map((row) => b[0]!.map((_, j) => row.reduce((sum, value, k) => sum + value * b[k]![j]!, 0)));
const transpose = (a: Rows): number[][] => a[0]!.map((_, j) => a.map((row) => row[j]!));

function sparse(rows: Rows) {
  const builder = sparseBuilder(rows.length, rows[0]!.length);
  for (const row of rows) {
    for (const [column, value] of row.entries()) builder.add(column, value);
    builder.endRow();
  }
  return builder.build();
}

function summed(row: readonly number[]) {
  const sum = rowSum(row.length);
  for (const [column, value] of row.entries()) {
    if (value === 0) continue;
    sum.touched[sum.count++] = column;
    sum.values[column] = value;
  }
  return sum;
}

const matrix = (rows: number, columns: number) =>
  fc.array(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: columns, maxLength: columns }), {
    minLength: rows,
    maxLength: rows,
  });
const problem = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 5 }))
  .chain(([features, attributes, targets]) =>
    fc.record({ f: matrix(features, features), s: matrix(features, attributes), c: matrix(features, targets) }),
  );

test("P and the rest of C equal those computed with plain matrices", async () => {
  const gemm = openGemm();
  await fc.assert(
    fc.asyncProperty(problem, async ({ f, s, c }) => {
      const a = product(transpose(f), f); // positive semidefinite, like second moments
      const ridge = Float64Array.from(s[0]!, (_, i) => 1 + i);
      const builder = priorBuilder(sparse(s), c[0]!.length);
      for (const feature of a.keys()) builder.addFeature(feature, summed(a[feature]!), summed(c[feature]!));
      const prior = await builder.solve(ridge, gemm);

      const gram = product(product(transpose(s), a), s).map((row, i) =>
        row.map((v, j) => v + (i === j ? ridge[i]! : 0)),
      );
      const weights = transpose(transpose(product(transpose(s), c)).map((column) => solvedLonghand(gram, column)));
      const p = product(s, weights);
      const rest = product(a, p).map((row, i) => row.map((value, j) => c[i]![j]! - value));

      const all = Float32Array.from(c.flat());
      await prior.explainAll(all, gemm);
      const scale = Math.max(1, ...c.flat(), ...rest.flat().map(Math.abs));
      for (const [i, value] of rest.flat().entries()) expect(Math.abs(all[i]! - value) / scale).toBeLessThan(1e-3);
      const features = Int32Array.from(a.keys()).reverse();
      for (const target of c[0]!.keys()) {
        const entries = Float64Array.from(features, (feature) => c[feature]![target]!);
        prior.explain(target, features, entries);
        for (const [i, feature] of features.entries())
          expect(Math.abs(entries[i]! - rest[feature]![target]!) / scale).toBeLessThan(1e-3);
      }
      for (const feature of a.keys()) {
        expect(prior.hasWeights(feature)).toBe(s[feature]!.some((value) => value !== 0));
        const row = new Float32Array(c[0]!.length).fill(1);
        prior.addWeights(feature, row);
        for (const [j, value] of row.entries()) {
          expect(Math.abs(value - 1 - p[feature]![j]!) / scale).toBeLessThan(1e-3);
          expect(Math.abs(prior.weightOf(feature, j) - p[feature]![j]!) / scale).toBeLessThan(1e-3);
        }
      }
    }),
    { numRuns: 100 },
  );
  await gemm.close();
});

test("an amount of a feature's own target can be left out of C", async () => {
  const s = sparse([[1], [1]]);
  const gram = [summed([2, 1]), summed([1, 3])];
  const [whole, without] = [priorBuilder(s, 2), priorBuilder(s, 2)];
  for (const [i, row] of gram.entries()) without.addFeature(i, row, row, row.values[i]!);
  for (const [i, row] of gram.entries())
    whole.addFeature(
      i,
      row,
      summed(
        [
          [0, 1],
          [1, 0],
        ][i]!,
      ),
    );
  const [left, right] = await Promise.all([without, whole].map((builder) => builder.solve(Float64Array.of(1))));
  for (const feature of [0, 1])
    for (const target of [0, 1])
      expect(left!.weightOf(feature, target)).toBeCloseTo(right!.weightOf(feature, target), 6);
});
