import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import { encodeContainer } from "../../shared/container.ts";
import {
  decodeUserValues,
  encodeUserValues,
  headCountFor,
  USER_VALUE_BYTES_MAX,
  USER_VALUES_MAX,
} from "../../shared/user-values.ts";

const ratio = fc.integer({ min: -300, max: 300 }).map((hundredths) => hundredths / 100); // fc.float is nearly always near 0
const fitted = fc.record({ head: fc.nat(12), tail: fc.nat(3), values: fc.integer({ min: 1, max: 4 }) }).chain((size) =>
  fc.record({
    itemCount: fc.constant(size.head + size.tail),
    base: fc
      .array(fc.float({ min: -20, max: 0, noNaN: true }), { minLength: size.head, maxLength: size.head })
      .map((scores) => Float32Array.from(scores).sort().reverse()),
    ratios: fc.array(
      fc.array(ratio, { minLength: size.head, maxLength: size.head }).map((row) => Float32Array.from(row)),
      { minLength: size.values, maxLength: size.values },
    ),
  }),
);

test("the scores are popularity plus the ratios of the user's values, each within half a step of its row", () =>
  fc.assert(
    fc.property(fitted, fc.infiniteStream(fc.boolean()), (content, draw) => {
      const values = decodeUserValues(encodeUserValues(content));
      expect([values.itemCount, values.headCount, values.valueCount]).toEqual([
        content.itemCount,
        content.base.length,
        content.ratios.length,
      ]);
      const codes = content.ratios.flatMap((_, code) => (draw.next().value ? [code] : []));
      const scores = values.score(codes);
      expect(scores).toHaveLength(content.itemCount);
      const steps = codes.reduce((sum, code) => sum + Math.max(...content.ratios[code]!.map(Math.abs), 0) / 254, 1e-4);
      for (let item = 0; item < content.base.length; item++) {
        const exact = codes.reduce((sum, code) => sum + content.ratios[code]![item]!, content.base[item]!);
        expect(Math.abs(scores[item]! - exact)).toBeLessThanOrEqual(steps);
      }
      for (let item = content.base.length; item < content.itemCount; item++)
        expect(scores[item]).toBe(content.base.at(-1) ?? 0);
    }),
  ));

test("the example in the header comment", () => {
  const values = decodeUserValues(
    encodeUserValues({ itemCount: 2, base: Float32Array.of(0, -1), ratios: [Float32Array.of(-1, 1)] }),
  );
  expect([...values.score([0])].map((score) => Math.round(1e6 * score) + 0)).toEqual([-1e6, 0]);
  expect([...values.score([])]).toEqual([0, -1]);
  expect(() => values.score([1])).toThrow(new FormatError("user-values: a user has value 1 of 1"));
});

test("ratios are stored for as many items as the limit allows, more are a bug of the writer", () => {
  expect(headCountFor(100, 3)).toBe(100);
  for (const valueCount of [1, 30, USER_VALUES_MAX]) {
    const headCount = headCountFor(1e7, valueCount);
    const row = new Float32Array(headCount);
    const bytes = encodeUserValues({ itemCount: 1e7, base: row, ratios: Array(valueCount).fill(row) });
    expect(bytes.length).toBeLessThan(USER_VALUE_BYTES_MAX + 1000);
    expect(bytes.length).toBeGreaterThan(0.99 * USER_VALUE_BYTES_MAX);
    const more = new Float32Array(headCount + 1);
    expect(() => encodeUserValues({ itemCount: 1e7, base: more, ratios: Array(valueCount).fill(more) })).toThrow(
      "too many",
    );
  }
});

test("values with ratios for another number of items are a bug of the writer", () => {
  const ratios = [Float32Array.of(1, 2, 3), Float32Array.of(1, 2)];
  expect(() => encodeUserValues({ itemCount: 3, base: new Float32Array(3), ratios })).toThrow(
    "value 1 has ratios of 2",
  );
});

const file = (change: object = {}, metadata: object = {}) =>
  encodeContainer({
    kind: "user-values",
    metadata: { item_count: 3, value_count: 2, ...metadata },
    arrays: { base: Float32Array.of(0, -1), scales: Float32Array.of(1, 0), steps: new Int8Array(4), ...change },
  });

test("the file from which the wrong ones are made is valid", () => expect(decodeUserValues(file()).headCount).toBe(2));

test.each<[string, Uint8Array, string]>([
  ["popularity that rises", file({ base: Float32Array.of(-1, 0) }), "rises or is not finite"],
  ["infinite popularity", file({ base: Float32Array.of(Number.POSITIVE_INFINITY, 0) }), "rises or is not finite"],
  ["no popularity at all", file({ base: Float32Array.of(0, Number.NEGATIVE_INFINITY) }), "rises or is not finite"],
  ["popularity that is NaN", file({ base: Float32Array.of(0, Number.NaN) }), "rises or is not finite"],
  ["more items than the catalog", file({}, { item_count: 1 }), "ratios of 2 items, of 1 in the catalog"],
  ["too few steps", file({ steps: new Int8Array(3) }), "expected 4 elements, found 3"],
  ["a scale too few", file({ scales: Float32Array.of(1) }), "expected 2 elements, found 1"],
  ["a negative scale", file({ scales: Float32Array.of(1, -1) }), "negative or not finite"],
  ["an infinite scale", file({ scales: Float32Array.of(1, Number.POSITIVE_INFINITY) }), "negative or not finite"],
  ["too many values", file({}, { value_count: 257 }), "metadata"],
  ["steps of another width", file({ steps: new Int16Array(4) }), "expected i8, found i16"],
])("a file with %s is refused", (_, bytes, message) => {
  expect(() => decodeUserValues(bytes)).toThrow(FormatError);
  expect(() => decodeUserValues(bytes)).toThrow(message);
});

test("codes have names, also those that do not score, and attributes with several values are lists", () => {
  const names = [["city", "Bonn"], null, ["tags", "a"], ["tags", "b"], ["is_new", true], ["__proto__", "x"]] as const;
  const content = { itemCount: 2, base: Float32Array.of(0, -1), ratios: [Float32Array.of(-1, 1)] };
  const values = decodeUserValues(encodeUserValues(content, { names, lists: ["tags", "unused"] }));
  expect(values.attributes).toEqual(["city", "tags", "is_new", "__proto__"]);
  expect(values.attributesOf([0, 1, 3])).toEqual({ city: "Bonn", tags: ["b"] });
  expect(Object.entries(values.attributesOf([2, 3, 4, 5]))).toEqual([
    ["tags", ["a", "b"]],
    ["is_new", true],
    ["__proto__", "x"],
  ]);
  expect([values.scoreIfAny([1, 4]), values.scoreIfAny([])]).toEqual([undefined, undefined]);
  expect(values.scoreIfAny([0, 4])).toEqual(values.score([0]));
  expect(() => values.score([6])).toThrow(new FormatError("user-values: a user has value 6 of 6"));
  expect(values.attributesOf([])).toEqual({});
});

test("a file may have names alone", () => {
  const empty = { itemCount: 1e6, base: new Float32Array(0), ratios: [] };
  const bytes = encodeUserValues(empty, { names: [["city", "Ulm"]], lists: [] });
  expect(bytes.length).toBeLessThan(1000);
  expect(decodeUserValues(bytes).scoreIfAny([0])).toBeUndefined();
  expect(decodeUserValues(bytes).attributesOf([0])).toEqual({ city: "Ulm" });
});
