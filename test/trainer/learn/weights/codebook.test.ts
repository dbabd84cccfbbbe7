import fc from "fast-check";
import { expect, test } from "vitest";
import { codebook } from "../../../../trainer/learn/weights/codebook.ts";

const root = (value: number) => Math.sign(value) * Math.sqrt(Math.abs(value));

test("every value gets the level that is nearest by its root, to a bin of 16,384", () => {
  const values = fc.float32Array({ min: -10, max: 10, noNaN: true, minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(values, fc.integer({ min: 2, max: 256 }), (drawn, count) => {
      const { levels, codeOf } = codebook(drawn, count);
      expect(levels.length).toBeLessThanOrEqual(count);
      expect([...levels]).toEqual([...levels].sort((a, b) => a - b));
      const bin = 8 / 16_383;
      for (const value of drawn) {
        const distances = [...levels].map((level) => Math.abs(root(level) - root(value)));
        expect(distances[codeOf(value)]).toBeLessThanOrEqual(Math.min(...distances) + bin);
      }
    }),
    { numRuns: 40 },
  );
});

test("of typical weights, 16 levels are right to a seventh and 256 to a hundredth", () => {
  const values = Float32Array.from({ length: 20_000 }, (_, i) => (i % 7 === 0 ? -0.3 : 1) / (1 + (i % 997)));
  for (const [count, error] of [
    [16, 0.15],
    [256, 0.01],
  ] as const) {
    const { levels, codeOf } = codebook(values, count);
    let [off, size] = [0, 0];
    for (const value of values) {
      off += (levels[codeOf(value)]! - value) ** 2;
      size += value ** 2;
    }
    expect(Math.sqrt(off / size)).toBeLessThan(error);
  }
});

test("no values, one value and equal values have one level", () => {
  for (const values of [[], [3], [3, 3, 3]]) {
    const { levels, codeOf } = codebook(Float32Array.from(values), 16);
    expect(levels[codeOf(3)]).toBe(values[0] ?? 0);
  }
});
