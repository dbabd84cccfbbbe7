import { expect, test } from "vitest";
import { guessColumns } from "../../shared/guess-columns.ts";
import { formOf, looksLikeTime, TIME_FORMATS } from "../../shared/time-formats.ts";

test.each([
  1_760_000_000,
  1_760_000_000_123,
  20241231,
  "20241231",
  "2024-12-31",
  "2024-12-31T23:59:00Z",
  "20241231T235900Z",
  "31/12/2024 23:59",
  "Dec 31, 2024 11:59 PM",
  "09 13, 2009".replace("09 13", "Sep 13"),
])("%j looks like a time", (value) => expect(looksLikeTime(value)).toBe(true));

test.each([5, 0.5, 151_603_712, "0439886341", "red", "Q1 2024", "1.2.3.4", "12-345-678", "2024", null, true, ""])(
  "%j does not look like a time",
  (value) => expect(looksLikeTime(value)).toBe(false),
);

test("forms match whole texts of their format only", () => {
  expect(formOf("%d/%m/%Y").test("31/12/2024")).toBe(true);
  expect(formOf("%d/%m/%Y").test("31/12/2024 10:00")).toBe(false);
  expect(formOf("%d.%m.%Y").test("31x12x2024")).toBe(false);
  expect(new Set(TIME_FORMATS).size).toBe(TIME_FORMATS.length);
});

test("a column of times is chosen by its values where rows are known", () => {
  const columns = ["reviewerID", "asin", "reviewTime", "unixReviewTime"];
  const rows = [{ reviewTime: "in the spring", unixReviewTime: 1_252_800_000 }];
  expect(guessColumns(columns, {}, rows)).toMatchObject({ time: "unixReviewTime" });
  expect(guessColumns(columns)).toMatchObject({ time: "reviewTime" });
  expect(guessColumns(["user", "item", "date"], {}, [{ date: "soon" }])).toMatchObject({ time: "date" });
});
