import { expect, test } from "vitest";
import { escaped, rounded, svgText } from "../../../../trainer/choose/files/svg-text.ts";

test("a text at its place, nothing in it read as SVG", () => {
  expect(svgText(1.26, -2, "a < b & c > d", 'fill="#333"')).toBe(
    '<text x="1.3" y="-2" fill="#333">a &lt; b &amp; c &gt; d</text>',
  );
  expect(escaped("&lt;")).toBe("&amp;lt;");
  expect([0, 0.04, 0.05, 12.3456].map(rounded)).toEqual([0, 0, 0.1, 12.3]);
});
