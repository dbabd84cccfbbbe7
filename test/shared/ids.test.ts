import fc from "fast-check";
import { expect, test } from "vitest";
import { ID_BYTES_MAX, type ItemId, type ItemIdType, idFaultOf, itemIdToJson, utf8BytesOf } from "../../shared/ids.ts";
import { anyCharacter } from "../fixtures/any-text.ts";

test.each<[string, ItemIdType, string | number]>([
  ["7", "integer", 7],
  ["-7", "integer", -7],
  ["0", "integer", 0],
  ["9007199254740991", "integer", 9007199254740991],
  ["9007199254740992", "integer", "9007199254740992"], // as a JSON number it would equal its neighbour
  ["-9007199254740993", "integer", "-9007199254740993"],
  ["7", "string", "7"],
  ["007", "integer", "007"],
  ["-0", "integer", "-0"],
])("%s of a column of type %s is sent as %j", (id, type, json) => expect(itemIdToJson(id as ItemId, type)).toBe(json));

test("UTF-8 bytes are counted as TextEncoder writes them, for any text", () =>
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter }),
      fc.array(fc.constantFrom("\ud83d", "\ude00", "é", "x")),
      (text, units) => {
        for (const sent of [text, units.join("")])
          expect(utf8BytesOf(sent)).toBe(new TextEncoder().encode(sent).length);
      },
    ),
  ));

test("UTF-8 bytes are counted at every edge of code point lengths", () => {
  const units = [
    "\x7f",
    "\x80",
    "\u07ff",
    "\u0800",
    "\ud7ff",
    "\ud800",
    "\udbff",
    "\udc00",
    "\udfff",
    "\ue000",
    "\uffff",
  ];
  for (const a of units)
    for (const b of units)
      for (const text of [a, a + b, `${b}${a}${b}`])
        expect(utf8BytesOf(text)).toBe(new TextEncoder().encode(text).length);
});

test.each([
  ["7", undefined],
  ["with space", undefined],
  ["x".repeat(ID_BYTES_MAX), undefined],
  ["é".repeat(ID_BYTES_MAX / 2), undefined],
  ["", "empty"],
  ["x".repeat(ID_BYTES_MAX + 1), "too_long"],
  ["é".repeat(ID_BYTES_MAX / 2 + 1), "too_long"],
  ["x".repeat(1e6), "too_long"],
  ["a\0b", "has_nul"],
  ["a\ud800", "not_unicode"],
])("%.20j as an id: %s", (text, fault) => expect(idFaultOf(text)).toBe(fault));
