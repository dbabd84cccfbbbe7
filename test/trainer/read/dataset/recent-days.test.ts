import { expect, test } from "vitest";
import { RECENT_DAYS } from "../../../../shared/model-record.ts";
import { recentDays } from "../../../../trainer/read/dataset/recent-days.ts";

const seconds = (time: string) => Date.parse(time) / 1000;
const daysOf = (...times: string[]) => {
  const all = times.map(seconds);
  return recentDays(Uint32Array.from(all), { from: Math.min(...all), to: Math.max(...all) });
};

test("every day from the first to the newest one has its number, also without interactions", () => {
  const days = daysOf("2026-03-01T23:59:59Z", "2026-02-27T00:00:00Z", "2026-03-01T00:00:00Z");
  expect(days).toEqual({ from: "2026-02-27", interactions: [1, 0, 2] });
});

test("older days are left out", () => {
  const days = daysOf("2020-01-01T00:00:00Z", "2026-03-31T12:00:00Z", "2026-01-01T01:00:00Z", "2025-12-31T23:00:00Z");
  expect(days).toEqual({ from: "2026-01-01", interactions: [1, ...Array(RECENT_DAYS - 2).fill(0), 1] });
});
