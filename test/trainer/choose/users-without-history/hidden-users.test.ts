import { expect, test } from "vitest";
import { mean } from "../../../../trainer/choose/evaluate/bootstrap.ts";
import {
  evaluateHiddenUsers,
  type HiddenUsersInput,
  valuesOf,
} from "../../../../trainer/choose/users-without-history/hidden-users.ts";
import { VALUE_RATIO_GRID } from "../../../../trainer/learn/attributes/user-value-ratios.ts";
import { codesOfUsers, userValueTable } from "../../../../trainer/read/dataset/user-value-table.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

const data = tastesByCity({ users: 300, items: 40, perUser: 8 });

function inputOf(train = data, more: Partial<HiddenUsersInput> = {}): HiddenUsersInput {
  const table = userValueTable(train.userAttributes);
  const codes = codesOfUsers(table, train.userAttributes, train.userCount);
  return { train, codes, table, halfLifeDays: 0, seed: 1, signal: new AbortController().signal, ...more };
}

test("every user with values is judged once, each in one of five parts, and what tells tastes is kept", async () => {
  const { users, fold, keptOfFold, kept, popularity, settings } = await evaluateHiddenUsers(inputOf());
  expect([...users]).toEqual(Array.from({ length: 300 }, (_, user) => user));
  const sizes = [0, 1, 2, 3, 4].map((at) => fold.filter((own) => own === at).length);
  expect(Math.min(...sizes)).toBeGreaterThan(30);
  expect(kept).toEqual([true, false]);
  expect(keptOfFold.every(([city]) => city)).toBe(true);
  expect(settings).toHaveLength(VALUE_RATIO_GRID.length);
  expect(mean(settings[0]!["ndcg@10"])).toBeGreaterThan(1.3 * mean(popularity["ndcg@10"]));
  expect(mean(settings[0]!["recall@20"])).toBeGreaterThan(mean(popularity["recall@20"]));
});

test("nothing of a hidden user teaches: what one user alone chose is never found", async () => {
  // User u chose item u and nobody else did.
  const userStart = Uint32Array.from({ length: 101 }, (_, user) => user);
  const loners = {
    ...tastesByCity({ users: 100, items: 100, perUser: 1 }),
    userStart,
    items: Int32Array.from({ length: 100 }, (_, user) => user),
    positive: new Uint8Array(100).fill(1),
  };
  const { popularity, settings } = await evaluateHiddenUsers(inputOf(loners));
  // Eighty items that others chose come before the hidden ones, which are ordered by lot.
  for (const judged of [popularity, ...settings]) expect(mean(judged["recall@20"])).toBe(0);
});

test("users without values or without choices are not judged", async () => {
  const positive = data.positive.slice().fill(0, data.userStart[4], data.userStart[6]);
  const codes = codesOfUsers(userValueTable(data.userAttributes), data.userAttributes, data.userCount);
  const start = codes.start.map((at, user) => (user > 2 ? at - codes.start[1]! : Math.max(0, at - codes.start[1]!)));
  const input = inputOf({ ...data, positive }, { codes: { start, codes: codes.codes.slice(codes.start[1]) } });
  const { users } = await evaluateHiddenUsers(input);
  expect(users.length).toBe(297);
  expect([0, 4, 5].filter((user) => users.includes(user))).toEqual([]);
});

test("the same seed gives the same parts and figures, another one others; an aborted run ends with its reason", async () => {
  const [one, again, other] = [
    await evaluateHiddenUsers(inputOf()),
    await evaluateHiddenUsers(inputOf()),
    await evaluateHiddenUsers(inputOf(data, { seed: 2 })),
  ];
  expect(again).toEqual(one);
  expect(other.fold).not.toEqual(one.fold);
  const reason = new Error("stop");
  await expect(evaluateHiddenUsers(inputOf(data, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
});

test("the values of kept columns, by rising code", () => {
  const { table } = inputOf();
  const [city, team] = table.columns.map(({ codes }) => [...codes.values()].sort((a, b) => a - b));
  expect([valuesOf(table, [true, false]), valuesOf(table, [false, true])]).toEqual([city, team]);
  expect(valuesOf(table, [true, true])).toEqual([0, 1, 2, 3, 4]);
  expect(valuesOf(table, [false, false])).toEqual([]);
});
