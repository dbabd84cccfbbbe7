import { expect, test } from "vitest";
import { fitSeconds } from "../../../trainer/choose/fit-seconds.ts";

const TWO_HOURS = 7200;

test.each([
  [0, TWO_HOURS, 900],
  [200_000, TWO_HOURS, 900],
  [1_000_000, TWO_HOURS, 4500],
  [50_000_000, TWO_HOURS, TWO_HOURS],
  [50_000_000, 60, 60],
  [10, 60, 60],
])("%i interactions, at most %i s: %i s", (interactions, secondsMax, seconds) => {
  expect(fitSeconds(interactions, secondsMax)).toBe(seconds);
});
