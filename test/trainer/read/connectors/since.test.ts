import { expect, test } from "vitest";
import { dateText, partedBy, timeText, unsuitableType } from "../../../../trainer/read/connectors/since.ts";

test("a moment as text is in UTC", () => {
  expect(timeText({ epochSeconds: 86_399 })).toBe("1970-01-01 23:59:59");
  expect(dateText({ epochSeconds: 86_400 })).toBe("1970-01-02");
});

test("the two conditions leave no row out", () => {
  expect(partedBy('"t"', "7")).toEqual({ isBefore: '"t" < 7', isSince: '("t" >= 7 OR "t" IS NULL)' });
});

test("a refusal names the column, its type and what to do", () => {
  expect(unsuitableType("at", "text").unsuitable).toBe(
    'its column "at" has the type text, whose order is not that of time; make it a timestamp, a date or a whole number',
  );
});
