import fc from "fast-check";
import { expect, test } from "vitest";
import { epochSecondsIn, epochSecondsOf, MILLISECONDS_FROM } from "../../../shared/filter/epoch-seconds.ts";

test("any moment's RFC 3339 form is read as that moment", () =>
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true, min: new Date(-6e13), max: new Date(2e14) }), (date) => {
      expect(epochSecondsIn(date.toISOString())).toBeCloseTo(date.getTime() / 1000, 3);
    }),
  ));

test.each<[string, number | undefined]>([
  ["1970-01-01T00:00:00Z", 0],
  ["1970-01-01t00:00:01z", 1],
  ["1970-01-01 00:00:01Z", 1],
  ["1970-01-01", 0],
  ["1970-01-01T01:00:00+01:00", 0],
  ["1969-12-31T23:30:00-00:30", 0],
  ["1970-01-01T00:00:00.25Z", 0.25],
  ["2000-02-29", 951_782_400],
  ["1998-12-31T23:59:60Z", 915_148_800],
  ["0001-01-01", -62_135_596_800],
  ["1900-02-29", undefined],
  ["2024-13-01", undefined],
  ["2024-00-10", undefined],
  ["2024-01-01T24:00:00Z", undefined],
  ["2024-01-01T00:60:00Z", undefined],
  ["2024-01-01T00:00:61Z", undefined],
  ["1970-01-02T00:00:00+23:59", 60],
  ["2024-01-01T00:00:00+24:00", undefined],
  ["2024-01-01T00:00:00+00:60", undefined],
  ["2024-01-01T00:00:00", undefined], // no zone, no moment
  ["2024-01-01T00:00Z", undefined],
  ["2024-1-1", undefined],
  ["20240101", undefined],
  ["1700000000", undefined],
  ["", undefined],
  [" 2024-01-01", undefined],
  ["yesterday", undefined],
])("%j is %d", (text, seconds) => expect(epochSecondsIn(text)).toBe(seconds));

test("numbers are seconds, or milliseconds when they are large", () => {
  expect(epochSecondsOf(1_700_000_000)).toBe(1_700_000_000);
  expect(epochSecondsOf(1_700_000_000_000)).toBe(1_700_000_000);
  expect(epochSecondsOf(MILLISECONDS_FROM)).toBe(1e8);
  expect(epochSecondsOf(-1_700_000_000_000)).toBe(-1_700_000_000);
});
