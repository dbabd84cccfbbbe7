import { expect, test } from "vitest";
import { countOf, stringAt } from "../../../../shared/packed-strings.ts";
import { usersOfTrain } from "../../../../trainer/choose/files/users-of-train.ts";
import { rowsWhere } from "../../../../trainer/read/dataset/split.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

const whole = tastesByCity({ users: 6, items: 10, perUser: 3 });

test("users behind the last with rows are left out, with their ids and attributes; those between stay", () => {
  const data = { ...whole, ...rowsWhere(whole, (row) => row < 3 || (row >= 6 && row < 12)) };
  const known = usersOfTrain(data);
  expect([known.userCount, known.items, [...known.userStart]]).toEqual([4, data.items, [0, 3, 3, 6, 9]]);
  expect([countOf(known.userIds), stringAt(known.userIds, 3)]).toEqual([4, stringAt(data.userIds, 3)]);
  expect(known.userAttributes[0]).toMatchObject({ start: Uint32Array.of(0, 1, 2, 3, 4) });
});
test("where every user has rows it is the dataset itself", () => expect(usersOfTrain(whole)).toBe(whole));
