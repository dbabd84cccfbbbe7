import { expect, test } from "vitest";
import { comeInOrders } from "../../../../trainer/choose/splits/orders.ts";
import { ordersOf } from "../../../fixtures/orders.ts";

const users = (count: number, hours: number, ...sizes: readonly number[]) =>
  ordersOf(
    Array.from({ length: count }, () => sizes.map((size) => Array.from({ length: size }, (_, item) => item))),
    hours,
  );

test.each([
  ["three items a time, days apart", users(200, 24, 3, 3), true],
  ["three items for every two times", users(200, 24, 1, 2), true],
  ["four items for every three times", users(200, 24, 1, 1, 2), false],
  ["single items", users(200, 24, 1, 1, 1), false],
  ["several items a time, minutes apart, as in a sitting", users(200, 0.5, 3, 3), false],
  ["few users who came back", users(199, 24, 3, 3), false],
  ["everybody came once", users(300, 24, 5), false],
  ["no data", users(0, 24), false],
])("%s: %#", (_, data, expected) => expect(comeInOrders(data)).toBe(expected));

test("only positive interactions are lines of orders", () => {
  const data = users(200, 24, 3, 3);
  const firstLines = Uint8Array.from(data.items, (item) => Number(item === 0));
  expect(comeInOrders({ ...data, positive: firstLines })).toBe(false);
});
