import fc from "fast-check";
import { expect, test } from "vitest";
import { traceIdIn } from "../../shared/trace-parent.ts";

const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: digits, maxLength: digits });
const notZero = (text: string) => /[^0]/.test(text);

test("the trace's id is found in every header of the standard's form", () =>
  fc.assert(
    fc.property(hex(32).filter(notZero), hex(16).filter(notZero), hex(2), (trace, span, flags) => {
      expect(traceIdIn(`00-${trace}-${span}-${flags}`)).toBe(trace);
    }),
  ));
test.each([
  undefined,
  null,
  "",
  `00-${"0".repeat(32)}-${"1".repeat(16)}-01`,
  `00-${"1".repeat(32)}-${"0".repeat(16)}-01`,
  `01-${"1".repeat(32)}-${"1".repeat(16)}-01-more`,
  `00-${"A".repeat(32)}-${"1".repeat(16)}-01`,
  `00-${"1".repeat(32)}-${"1".repeat(16)}-01\n`,
])("%j has none", (header) => expect(traceIdIn(header)).toBeUndefined());
