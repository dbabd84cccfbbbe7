import { expect, test } from "vitest";
import { areEvents, positiveTypes } from "../../shared/guess-positive.ts";

test.each([
  [{ view: 90, addtocart: 7, transaction: 3 }, "transaction addtocart view"],
  [{ view: 90, remove_from_cart: 7, purchase: 8, "": 2 }, "purchase view"],
  [{ dislike: 5, skip: 2 }, "skip dislike"],
  [{ Complété: 90, Annulé: 3, Remboursé: 2 }, "Complété"],
  [{ 已完成: 90, 已取消: 3, возврат: 2 }, "已完成"],
])("of %j, %s are positive", (counts, expected) => {
  const types = Object.entries(counts).map(([value, rows]) => ({ value, rows }));
  expect(positiveTypes(types).join(" ")).toBe(expected);
});

test.each([
  [["page_view", "addtocart"], true],
  [["shipped", "new"], true],
  [["Annulé"], true],
  [["bread", "book"], false],
  [[], false],
])("%j are types of events: %s", (values, expected) => expect(areEvents(values)).toBe(expected));
