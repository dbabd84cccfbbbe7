import { afterEach, expect, test, vi } from "vitest";
import { ago } from "../../../edge/console/figures.ts";

afterEach(() => void vi.useRealTimers());

test.each([
  ["the Monday after a Saturday evening", "2026-11-30T04:00:00Z", "in 33 hours"],
  ["two days later", "2026-11-30T19:30:00Z", "in 2 days"],
  ["the evening before the last", "2026-11-26T22:00:00Z", "45 hours ago"],
  ["a month earlier", "2026-10-28T19:00:00Z", "31 days ago"],
  ["a quarter of a year earlier", "2026-08-28T19:00:00Z", "3 months ago"],
  ["an hour later", "2026-11-28T20:05:00Z", "in 1 hour"],
  ["seconds earlier", "2026-11-28T18:59:30Z", "30 seconds ago"],
  ["no time", null, "never"],
])("%s", (_, time, text) => {
  vi.useFakeTimers({ now: new Date("2026-11-28T19:00:00Z") });
  expect(ago(time)).toBe(text);
});
