import fc from "fast-check";
import { expect, test } from "vitest";
import { nthLargest } from "../../../../trainer/learn/weights/nth-largest.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

test("every n gives the value that a sort gives", () => {
  const values = fc.array(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.float({ noNaN: true })), { minLength: 1 });
  fc.assert(
    fc.property(values, fc.nat(), (given, place) => {
      const n = 1 + (place % given.length);
      const sorted = Float32Array.from(given).sort().reverse();
      expect(nthLargest(Float32Array.from(given), n) + 0).toEqual(sorted[n - 1]! + 0);
      expect(nthLargest(Float64Array.from(given), n) + 0).toEqual(
        Float64Array.from(given).sort().reverse()[n - 1]! + 0,
      );
    }),
  );
});

test("many values give the value that a sort gives, even if the sample misleads", () => {
  const sizes = fc.record({
    count: fc.integer({ min: 900, max: 4000 }),
    place: fc.nat(),
    seed: fc.nat(),
    kinds: fc.constantFrom(2, 30, 1e9),
  });
  fc.assert(
    fc.property(sizes, ({ count, place, seed, kinds }) => {
      const { random } = fitContext(seed);
      // Either every 16th value is large, so that the sample misleads, or no value is.
      const values = Float64Array.from(
        { length: count },
        (_, i) => Math.floor(kinds * random()) * (i % 16 === seed % 17 ? 1 : 0.1),
      );
      const n = 1 + (place % count);
      expect(nthLargest(values.slice(), n)).toBe(values.slice().sort().reverse()[n - 1]);
    }),
  );
});
