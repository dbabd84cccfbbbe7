import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesAt,
  compareBytes,
  countOf,
  isUtf8,
  lowerBound,
  packStrings,
  stringAt,
  textOf,
  utf8Of,
} from "../../shared/packed-strings.ts";

const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 6 }));

test("every string is read back at its position", () =>
  fc.assert(
    fc.property(texts, (values) => {
      const packed = packStrings(values);
      expect(countOf(packed)).toBe(values.length);
      expect(values.map((_, i) => stringAt(packed, i))).toEqual(values.map((value) => value.toWellFormed()));
    }),
  ));

test.each<[string, Uint8Array, boolean]>([
  ["nothing", new Uint8Array(), true],
  ["a byte order mark and a pair of surrogates' character", utf8Of("\uFEFF\u{1F600}"), true],
  ["characters across the boundaries of pieces", utf8Of("é".repeat(70_000) + "a\u{1F600}".repeat(30_000)), true],
  ["a byte that is not UTF-8", Uint8Array.of(97, 0xff), false],
  ["an incomplete character", utf8Of("é").subarray(0, 1), false],
])("UTF-8 or not: %s", (_, bytes, expected) => expect(isUtf8(bytes)).toBe(expected));

test("positions before the first and after the last string throw", () => {
  const packed = packStrings(["a", ""]);
  expect([...bytesAt(packed, 1)]).toEqual([]);
  expect(() => stringAt(packed, 2)).toThrow(RangeError);
  expect(() => bytesAt(packed, -1)).toThrow("no string at -1 of 2");
  expect(() => stringAt(packStrings([]), 0)).toThrow(RangeError);
});

test("the order is that of code points, not of UTF-16 units", () => {
  expect("\u{1F600}" < "\uFFFD").toBe(true);
  expect(compareBytes(utf8Of("\u{1F600}"), utf8Of("\uFFFD"))).toBeGreaterThan(0);
  expect(compareBytes(utf8Of("\u{1F600}"), utf8Of("\uFFFDabc"))).toBeGreaterThan(0);
  expect(compareBytes(utf8Of("ab"), utf8Of("ac"))).toBeLessThan(0);
  expect(compareBytes(utf8Of("ab"), utf8Of("a"))).toBeGreaterThan(0);
  expect(compareBytes(utf8Of("a"), utf8Of("a"))).toBe(0);
});

test("lowerBound is the number of strings below", () =>
  fc.assert(
    fc.property(texts, fc.string({ unit: "grapheme", maxLength: 6 }), (values, wanted) => {
      const text = utf8Of(wanted);
      const sorted = values.toSorted((a, b) => compareBytes(utf8Of(a), utf8Of(b)));
      const below = sorted.filter((value) => compareBytes(utf8Of(value), text) < 0).length;
      expect(lowerBound(packStrings(sorted), text)).toBe(below);
    }),
  ));

test("a byte order mark at the beginning is part of the text", () => expect(textOf(utf8Of("\uFEFFa"))).toBe("\uFEFFa"));

test("bytes that are not UTF-8 are not decoded", () => expect(() => textOf(Uint8Array.of(0xff))).toThrow(TypeError));
