import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import {
  type AttributeColumn,
  countBelow,
  decodeAttributes,
  encodeAttributes,
  type KeyedAttribute,
  type KeyedColumn,
  NAME_LENGTH_MAX,
} from "../../shared/attributes.ts";
import { encodeContainer, type TypedArray } from "../../shared/container.ts";
import { stringAt } from "../../shared/packed-strings.ts";

/** A row's values as the writer received them: text columns as sorted distinct texts, others as a value or null. */
function sentAt(column: KeyedAttribute, row: number): unknown {
  if ("dictionary" in column) {
    const codes = column.codes.subarray(column.start[row], column.start[row + 1]);
    const texts = [...new Set(Array.from(codes, (code) => column.dictionary[code]!.toWellFormed()))];
    return texts.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
  const value = column.values[row]!;
  if (column.type === "Boolean") return value === 255 ? null : value === 1;
  return Number.isFinite(value) ? value + 0 : null;
}

/** A row's values as the table returns them, in the same form. */
function readAt(column: KeyedColumn, row: number): unknown {
  const key = column.keys[row]!;
  if (column.type === "Boolean") return key === 0 ? null : key === 2;
  if (column.type === "CategoryList")
    return Array.from(column.keys.subarray(column.start[row], column.start[row + 1]), (k) =>
      stringAt(column.dictionary, k - 1),
    );
  if ("dictionary" in column) return key === 0 ? [] : [stringAt(column.dictionary, key - 1)];
  if (column.form === "plain") return Number.isNaN(key) ? null : key;
  if (key === 0) return null;
  return column.form === "coded" ? column.values[key - 1] : column.base + key - 1;
}

const ROWS = 12;
const number = fc.oneof(
  fc.constant(Number.NaN),
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.nat(300),
  fc.constantFrom(0, -0, 0.1, 1e9, 1.7e9, 2 ** 53, 2 ** 40),
);
const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 4 }), { minLength: 1, maxLength: 6 });
const columns: fc.Arbitrary<KeyedAttribute> = fc.oneof(
  fc.record({
    name: fc.constant("c"),
    type: fc.constantFrom("Numerical" as const, "Timestamp" as const),
    values: fc.array(number, { minLength: ROWS, maxLength: ROWS }).map((values) => Float64Array.from(values)),
  }),
  fc.record({
    name: fc.constant("c"),
    type: fc.constant("Boolean" as const),
    values: fc
      .array(fc.constantFrom(0, 1, 255), { minLength: ROWS, maxLength: ROWS })
      .map((values) => Uint8Array.from(values)),
  }),
  fc
    .tuple(
      fc.constantFrom("Category" as const, "Text" as const, "CategoryList" as const),
      texts,
      fc.array(fc.array(fc.nat(100), { maxLength: 4 }), { minLength: ROWS, maxLength: ROWS }),
    )
    .map(([type, dictionary, rows]) => {
      const lists = rows.map((row) => (type === "CategoryList" ? row : row.slice(0, 1)));
      const start = Uint32Array.from({ length: ROWS + 1 }, (_, row) => lists.slice(0, row).flat().length);
      return {
        name: "c",
        type,
        dictionary,
        start,
        codes: Uint32Array.from(lists.flat(), (n) => n % dictionary.length),
      };
    }),
);

test("every value is read back, for columns of every type and form", () =>
  fc.assert(
    fc.property(columns, (column) => {
      const table = decodeAttributes(encodeAttributes([column], ROWS));
      const read = table.columns.get("c") as KeyedColumn;
      expect(table.itemCount).toBe(ROWS);
      expect(read.type).toBe(column.type);
      for (let row = 0; row < ROWS; row++) expect(readAt(read, row)).toEqual(sentAt(column, row));
    }),
    { numRuns: 200 },
  ));

test("the order of keys is the order of values", () =>
  fc.assert(
    fc.property(columns, (column) => {
      const read = decodeAttributes(encodeAttributes([column], ROWS)).columns.get("c") as KeyedColumn;
      if ("dictionary" in column || column.type === "Boolean") return;
      for (let a = 0; a < ROWS; a++)
        for (let b = 0; b < ROWS; b++) {
          const [x, y] = [sentAt(column, a), sentAt(column, b)] as (number | null)[];
          if (x !== null && y !== null) expect(read.keys[a]! < read.keys[b]!).toBe(x! < y!);
        }
    }),
  ));

const numerical = (values: number[]): AttributeColumn => ({
  name: "c",
  type: "Numerical",
  values: Float64Array.from(values),
});

describe("numbers are stored in the smallest exact form", () => {
  const many = Array.from({ length: 100_000 }, (_, i) => i);
  test.each<[string, number[], string, number]>([
    ["years", many.map((i) => 1900 + (i % 120)), "based", 1],
    ["epoch seconds", many.map((i) => 1.6e9 + i * 977), "based", 4],
    ["prices with few values", many.map((i) => (i % 200) + 0.99), "coded", 1],
    ["prices with many values", many.map((i) => i + 0.99), "plain", 8],
    ["halves", many.map((i) => i / 2), "plain", 4],
    ["negative integers", many.map((i) => -(i % 200)), "based", 1],
    ["numbers far apart", many.map((i) => (i % 2) * 1e12), "coded", 1],
    ["only missing values", many.map(() => Number.NaN), "based", 1],
  ])("%s", (_, values, form, bytesPerItem) => {
    const column = decodeAttributes(encodeAttributes([numerical(values)], values.length)).columns.get(
      "c",
    ) as KeyedColumn;
    expect("form" in column && column.form).toBe(form);
    expect(column.keys.BYTES_PER_ELEMENT).toBe(bytesPerItem);
  });
});

describe("keys have the smallest width, at every edge", () => {
  test.each([254, 255, 256, 65_535, 65_536])("%i distinct texts", (count) => {
    const dictionary = Array.from({ length: count }, (_, i) => String(i));
    const start = Uint32Array.from({ length: count + 1 }, (_, i) => i);
    const column: AttributeColumn = { name: "c", type: "Category", dictionary, start, codes: start.slice(0, -1) };
    const read = decodeAttributes(encodeAttributes([column], count)).columns.get("c") as KeyedColumn;
    expect(read.keys.BYTES_PER_ELEMENT).toBe(count < 256 ? 1 : count < 65_536 ? 2 : 4);
    for (const row of [0, 1, count - 2, count - 1]) expect(readAt(read, row)).toEqual([String(row)]);
  });
  test.each([253, 254, 255, 256, 65_533, 65_534, 65_535, 2 ** 32 - 3, 2 ** 32 - 2, 2 ** 32 - 1, 2 ** 32])(
    "integers %i apart",
    (span) => {
      const values = Array.from({ length: 1000 }, (_, i) => 7 + (i % 2 === 0 ? span : Math.floor((span * i) / 1000)));
      const read = decodeAttributes(encodeAttributes([numerical(values)], 1000)).columns.get("c") as KeyedColumn;
      expect(values.map((_, row) => readAt(read, row))).toEqual(values);
    },
  );
  test.each([65_535, 65_536])("%i distinct numbers that are no integers", (count) => {
    const values = Array.from({ length: count * 2 }, (_, i) => (i % count) + 0.1);
    const read = decodeAttributes(encodeAttributes([numerical(values)], values.length)).columns.get("c") as KeyedColumn;
    expect("form" in read && read.form).toBe(count === 65_535 ? "coded" : "plain");
    for (const row of [0, 1, count - 1, 2 * count - 1]) expect(readAt(read, row)).toBe(values[row]);
  });
});

test("unused and repeated texts of a dictionary are left out", () => {
  const column: AttributeColumn = {
    name: "c",
    type: "Category",
    dictionary: ["red", "never", "blue", "red"],
    start: Uint32Array.of(0, 1, 1, 2, 3),
    codes: Uint32Array.of(0, 2, 3),
  };
  const read = decodeAttributes(encodeAttributes([column], 4)).columns.get("c") as KeyedColumn;
  expect([...read.keys]).toEqual([2, 0, 1, 2]);
  expect("dictionary" in read && [stringAt(read.dictionary, 0), stringAt(read.dictionary, 1)]).toEqual(["blue", "red"]);
});

test("a table may have no columns and no items", () => {
  expect(decodeAttributes(encodeAttributes([], 0)).columns.size).toBe(0);
  expect((decodeAttributes(encodeAttributes([numerical([])], 0)).columns.get("c") as KeyedColumn).keys.length).toBe(0);
});

test("a name that readers would refuse is a bug of the writer, the longest allowed name is not", () => {
  const encode = (length: number) =>
    encodeAttributes([{ name: "n".repeat(length), type: "Boolean", values: Uint8Array.of(1) }], 1);
  expect(decodeAttributes(encode(NAME_LENGTH_MAX)).columns.size).toBe(1);
  expect(() => encode(NAME_LENGTH_MAX + 1)).toThrow("Assertion failed: attributes that no reader would accept");
});

test("columns that do not fit are a bug of the writer", () => {
  expect(() => encodeAttributes([numerical([1])], 2)).toThrow('attribute "c" has 1 rows for 2 items');
  expect(() => encodeAttributes([numerical([1]), numerical([2])], 1)).toThrow("names are distinct");
  const two = { name: "c", dictionary: ["a"], start: Uint32Array.of(0, 2), codes: Uint32Array.of(0, 0) };
  expect(() => encodeAttributes([{ ...two, type: "Category" }], 1)).toThrow("several values");
  expect(() => encodeAttributes([{ ...two, type: "CategoryList", codes: Uint32Array.of(0, 1) }], 1)).toThrow("code 1");
});

const file = (header: object, arrays: Record<string, TypedArray>) =>
  encodeContainer({
    kind: "attributes",
    metadata: { item_count: 2, columns: [{ name: "c", ...header }] },
    arrays: Object.fromEntries(Object.entries(arrays).map(([part, array]) => [`0.${part}`, array])),
  });
const keys = Uint8Array.of(0, 1);
const ab = { dictionary: Uint8Array.of(97, 98), dictionary_start: Uint32Array.of(0, 1, 2) };

test.each<[string, Uint8Array, string]>([
  [
    "a key beyond the dictionary",
    file({ type: "Category" }, { keys: Uint8Array.of(0, 3), ...ab }),
    "key 3, above the maximum 2",
  ],
  [
    "a first key beyond the dictionary",
    file({ type: "Category" }, { keys: Uint8Array.of(3, 0), ...ab }),
    "key 3, above the maximum 2",
  ],
  [
    "a key that is no truth value",
    file({ type: "Boolean" }, { keys: Uint8Array.of(0, 3) }),
    "key 3, above the maximum 2",
  ],
  ["too few keys", file({ type: "Boolean" }, { keys: Uint8Array.of(0) }), "expected 2 elements"],
  ["numbers without a form", file({ type: "Numerical" }, { keys }), "unknown form"],
  ["a base that is missing", file({ type: "Numerical", form: "based" }, { keys }), "unknown form"],
  [
    "values that do not rise",
    file({ type: "Numerical", form: "coded" }, { keys, values: Float64Array.of(2, 1) }),
    "do not rise",
  ],
  [
    "a value that is no number",
    file({ type: "Numerical", form: "coded" }, { keys, values: Float64Array.of(1, Number.NaN) }),
    "do not rise",
  ],
  [
    "an unsorted dictionary",
    file({ type: "Text" }, { keys, ...ab, dictionary: Uint8Array.of(98, 97) }),
    "unsorted dictionary",
  ],
  [
    "a dictionary with a hole",
    file({ type: "Text" }, { keys, ...ab, dictionary_start: Uint32Array.of(1, 2) }),
    "do not follow",
  ],
  [
    "a dictionary that steps back",
    file({ type: "Text" }, { keys, ...ab, dictionary_start: Uint32Array.of(0, 2, 1, 2) }),
    "do not follow",
  ],
  [
    "lists beyond their keys",
    file({ type: "CategoryList" }, { keys, ...ab, start: Uint32Array.of(0, 1, 3) }),
    "lists that do not follow",
  ],
])("a file with %s is refused", (_, bytes, sentence) => {
  expect(() => decodeAttributes(bytes)).toThrow(FormatError);
  expect(() => decodeAttributes(bytes)).toThrow(sentence);
});

test("two columns of one name are refused", () => {
  const columns = [1, 2].map(() => ({ name: "c", type: "Boolean" }));
  const arrays = { "0.keys": keys, "1.keys": keys };
  const bytes = encodeContainer({ kind: "attributes", metadata: { item_count: 2, columns }, arrays });
  expect(() => decodeAttributes(bytes)).toThrow("same name");
});

test("countBelow returns the number of smaller values", () =>
  expect([0, 1, 1.5, 3].map((x) => countBelow(Float64Array.of(1, 2), x))).toEqual([0, 0, 1, 2]));
