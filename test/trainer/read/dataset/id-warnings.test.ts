import { expect, test } from "vitest";
import { readRows, specOf } from "../../../fixtures/rows-spec.ts";

/** The warnings about ids of a dataset with these users and items, given as SQL literals. */
async function warningsOf(users: readonly string[], items: readonly string[], more: object = {}) {
  const rows = users.map((user, row) => `(${user}, ${items[row]}, ${1_700_000_000 + row}, 1)`);
  const { summary } = await readRows(
    specOf({ interactions: `SELECT * FROM (VALUES ${rows.join(", ")}) v(u, i, t, l)`, ...more }),
  );
  return summary.warnings.filter((warning) => /\bids\b/.test(warning));
}

test("ids that differ by blanks or case are counted; items have an example, users have none", async () => {
  expect(await warningsOf(["'u'", "'u '", "'U'", "'v'"], ["'a'", "' a'", "'b'", "'B'"])).toEqual([
    '1 user ids differ from another one only by blanks around them: "trim_ids": true in schema.interaction would join them',
    "1 user ids differ from another one only by upper and lower case: are these different users?",
    '1 item ids differ from another one, such as " a" and "a", only by blanks around them: "trim_ids": true in schema.interaction would join them',
    '1 item ids differ from another one, such as "B" and "b", only by upper and lower case: are these different items?',
  ]);
  expect(await warningsOf(["'u'", "'u '", "'v'"], ["'a'", "' a'", "'b'"], { trim_ids: true })).toEqual([]);
  expect(await warningsOf(["1", "2"], ["'a'", "'b'"])).toEqual([]);
});

test("ids whose exponent hides digits are counted", async () => {
  expect(await warningsOf(["'1.50000E+12'", "'2E3'"], ["'1.5e1'", "'1.25e+1'"])).toEqual([
    "2 user ids were rounded, as spreadsheets do: their exponent hides digits, so that different ids may have become one; " +
      "export the column as text",
  ]);
  expect((await warningsOf(["'u'", "'v'"], ["'1.5E+12'", "'b'"]))[0]).toContain(
    '1 item ids, such as "1.5E+12", were rounded',
  );
});

test("whole numbers with a point lose it, which is said", async () => {
  expect(await warningsOf(["12.0::DOUBLE", "13"], ["28.00::DECIMAL(10,2)", "29"])).toEqual([
    'The user ids in "u" are numbers with a point; whole ones lose it: 12.0 is the id 12',
    'The item ids in "i" are numbers with a point; whole ones lose it: 12.0 is the id 12',
  ]);
  expect(await warningsOf(["1.5::DOUBLE", "2.5"], ["1", "2"])).toEqual([]);
});
