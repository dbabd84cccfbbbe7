import fc from "fast-check";
import { expect, test } from "vitest";
import { attributesOf } from "../../shared/attribute-values.ts";
import { type AttributeColumn, decodeAttributes, encodeAttributes } from "../../shared/attributes.ts";
import type { ItemIndex } from "../../shared/ids.ts";

const COUNT = 12;
const perItem = <T>(value: fc.Arbitrary<T>) => fc.array(value, { minLength: COUNT, maxLength: COUNT });
const word = fc.constantFrom("red", "blue", "", "ü", "green");

/** A column of texts from the texts of each item. */
function textColumn(
  name: string,
  type: "Category" | "CategoryList" | "Text",
  texts: readonly (readonly string[])[],
): AttributeColumn {
  const dictionary = [...new Set(texts.flat())];
  const start = new Uint32Array(COUNT + 1);
  for (const [item, own] of texts.entries()) start[item + 1] = start[item]! + own.length;
  return { name, type, dictionary, start, codes: Uint32Array.from(texts.flat(), (text) => dictionary.indexOf(text)) };
}

test("every value that was written is read again", () =>
  fc.assert(
    fc.property(
      perItem(fc.option(word)),
      perItem(fc.uniqueArray(word)),
      perItem(
        fc.option(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.double({ noNaN: true, noDefaultInfinity: true }))),
      ),
      perItem(fc.option(fc.boolean())),
      perItem(fc.option(fc.integer({ min: 0, max: 4e9 }))),
      (colours, tags, prices, sales, times) => {
        const columns: AttributeColumn[] = [
          textColumn(
            "colour",
            "Category",
            colours.map((colour) => (colour === null ? [] : [colour])),
          ),
          textColumn("tags", "CategoryList", tags),
          { name: "price", type: "Numerical", values: Float64Array.from(prices, (price) => price ?? Number.NaN) },
          { name: "sale", type: "Boolean", values: Uint8Array.from(sales, (sale) => (sale === null ? 255 : +sale)) },
          { name: "added", type: "Timestamp", values: Float64Array.from(times, (time) => time ?? Number.NaN) },
        ];
        const table = decodeAttributes(encodeAttributes(columns, COUNT));
        for (let item = 0; item < COUNT; item++) {
          const { tags: foundTags, ...found } = attributesOf(table, item as ItemIndex);
          expect([...((foundTags as string[] | undefined) ?? [])].sort()).toEqual([...tags[item]!].sort());
          expect(found).toEqual({
            ...(colours[item] !== null && { colour: colours[item] }),
            ...(prices[item] !== null && { price: prices[item]! + 0 }),
            ...(sales[item] !== null && { sale: sales[item] }),
            ...(times[item] !== null && { added: new Date(times[item]! * 1000).toISOString() }),
          });
        }
      },
    ),
  ));

test("a time beyond the calendar stays a number", () => {
  const column: AttributeColumn = { name: "added", type: "Timestamp", values: Float64Array.of(1e15) };
  const table = decodeAttributes(encodeAttributes([column], 1));
  expect(attributesOf(table, 0 as ItemIndex)).toEqual({ added: 1e15 });
});
