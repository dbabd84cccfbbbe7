import { describe, expect, test } from "vitest";
import { bySession, sessionNumbering } from "../../../../trainer/read/dataset/sessions.ts";
import { rowsOf } from "../../../fixtures/rows-spec.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

describe("numbers of sessions", () => {
  const numbered = (rows: readonly (readonly [user: number, key: number | null, second: number])[]) => {
    const { numberOf, count } = sessionNumbering();
    return { numbers: rows.map((row) => numberOf(...row)), count: count() };
  };

  test("the same key of two users means two sessions, and one may go on after another has begun", () =>
    expect(
      numbered([
        [0, 7, 1],
        [0, 8, 2],
        [0, 7, 3],
        [1, 7, 4],
      ]),
    ).toEqual({ numbers: [0, 1, 0, 2], count: 3 }));
  test("rows without a key are one session while half an hour at most lies between them", () =>
    expect(
      numbered([
        [0, null, 0],
        [0, 5, 900],
        [0, null, 1800],
        [0, null, 3601],
        [1, null, 3602],
      ]),
    ).toEqual({
      numbers: [0, 1, 0, 2, 3],
      count: 4,
    }));
  test("no rows", () => expect(numbered([])).toEqual({ numbers: [], count: 0 }));
});

describe("a dataset by session", () => {
  const dataset = { ...twoTastes({ users: 2, items: 4, perUser: 3 }), ratings: Float32Array.of(1, 2, 3, 4, 5, 6) };
  const view = bySession(dataset, { count: 4, of: Uint32Array.of(0, 1, 0, 2, 3, 3) });

  test("has the rows of each session in their order, with items, times, labels and ratings", () => {
    expect([...view.userStart]).toEqual([0, 2, 3, 4, 6]);
    expect([...view.ratings!]).toEqual([1, 3, 2, 4, 5, 6]);
    for (const column of ["items", "times", "positive"] as const)
      expect([...view[column]]).toEqual([0, 2, 1, 3, 4, 5].map((row) => dataset[column][row]));
  });
  test("has sessions without ids, and the catalog as it is", () => {
    expect(rowsOf(view).every((row) => row.startsWith(" "))).toBe(true);
    expect(view).toMatchObject({ userCount: 4, itemCount: 4, userAttributes: [], itemIds: dataset.itemIds });
  });
});
