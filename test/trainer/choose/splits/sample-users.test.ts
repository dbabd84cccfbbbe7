import fc from "fast-check";
import { expect, test } from "vitest";
import { isKeyed } from "../../../../shared/attributes.ts";
import { stringAt } from "../../../../shared/packed-strings.ts";
import { interactionBytes, sampleUsers } from "../../../../trainer/choose/splits/sample-users.ts";
import type { Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const plain = twoTastes({ users: 200, items: 30, perUser: 6 });
const shop: Dataset = {
  ...plain,
  ratings: Float32Array.from(plain.items, (item) => item + 0.5),
  userAttributes: [
    { name: "age", type: "Numerical", values: Float64Array.from({ length: 200 }, (_, user) => user) },
    {
      name: "tags",
      type: "CategoryList",
      dictionary: ["a", "b"],
      start: Uint32Array.from({ length: 201 }, (_, user) => Math.floor(user / 2)),
      codes: Uint32Array.from({ length: 100 }, (_, i) => i % 2),
    },
  ],
};

/** Everything that is known of a user, by id. */
const peopleOf = (data: Dataset) =>
  Array.from({ length: data.userCount }, (_, user) => {
    const [from, end] = [data.userStart[user]!, data.userStart[user + 1]!];
    const rows = [data.items, data.times, data.positive, data.ratings!].map((column) => [...column.slice(from, end)]);
    const attributes = data.userAttributes
      .filter(isKeyed)
      .map((column) =>
        "values" in column ? column.values[user] : [...column.codes.slice(column.start[user], column.start[user + 1])],
      );
    return JSON.stringify([stringAt(data.userIds, user), rows, attributes]);
  });

test("whoever is drawn keeps all rows, id and attributes; the catalog stays", () => {
  const everybody = new Set(peopleOf(shop));
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(), (share, seed) => {
      const some = sampleUsers(shop, share, seed);
      const people = peopleOf(some);
      expect(new Set(people).size).toBe(people.length);
      for (const person of people) expect(everybody.has(person)).toBe(true);
      expect([some.itemCount, some.itemIds]).toEqual([shop.itemCount, shop.itemIds]);
      expect(some.userStart.at(-1)).toBe(some.items.length);
    }),
    { numRuns: 30 },
  );
});
test("about the share is drawn, the same with the same seed, and a smaller share from the larger one", () => {
  const half = peopleOf(sampleUsers(shop, 0.5, 3));
  expect(half.length).toBeGreaterThan(75);
  expect(half.length).toBeLessThan(125);
  expect(peopleOf(sampleUsers(shop, 0.5, 3))).toEqual(half);
  expect(peopleOf(sampleUsers(shop, 0.5, 4))).not.toEqual(half);
  for (const person of peopleOf(sampleUsers(shop, 0.2, 3))) expect(half).toContain(person);
});
test("the whole share is the data themselves", () => expect(sampleUsers(shop, 1, 1)).toBe(shop));
test("a copy takes 9 bytes a row, 13 with ratings, and 4 a user", () => {
  expect(interactionBytes(plain)).toBe(1200 * 9 + 800);
  expect(interactionBytes(shop)).toBe(1200 * 13 + 800);
});
