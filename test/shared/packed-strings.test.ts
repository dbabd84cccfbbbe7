import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesAt,
  compareBytes,
  countOf,
  lowerBound,
  packStrings,
  stringAt,
  textOf,
  utf8Of,
} from "../../shared/packed-strings.ts";

const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 6 }));

test("every string comes back at its position", () =>
  fc.assert(
    fc.property(texts, (values) => {
      const packed = packStrings(values);
      expect(countOf(packed)).toBe(values.length);
      expect(values.map((_, i) => stringAt(packed, i))).toEqual(values.map((value) => value.toWellFormed()));
    }),
  ));

test("no string lies before the first or after the last", () => {
  const packed = packStrings(["a", ""]);
  expect([...bytesAt(packed, 1)]).toEqual([]);
  expect(() => stringAt(packed, 2)).toThrow(RangeError);
  expect(() => bytesAt(packed, -1)).toThrow("no string at -1 of 2");
  expect(() => stringAt(packStrings([]), 0)).toThrow(RangeError);
});

test("order is by code point, which UTF-16 does not keep", () => {
  expect("\u{1F600}" < "\uFFFD").toBe(true);
  expect(compareBytes(utf8Of("\u{1F600}"), utf8Of("\uFFFD"))).toBeGreaterThan(0);
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

test("bytes that are no UTF-8 are no text", () => expect(() => textOf(Uint8Array.of(0xff))).toThrow(TypeError));
