import { expect, test } from "vitest";
import {
  cheapFirst,
  listsWithin,
  shareOf,
  tooMuchFor,
  untuned,
} from "../../../../trainer/choose/files/further-models.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";

const data = checkerboard(10);
const method = (name: string, seconds: number, memoryMb = 1) =>
  ({ name, grid: () => [{ a: 1 }, { a: 2 }], cost: () => ({ seconds, memoryMb }) }) as unknown as Method;
const methods = { popularity: method("popularity", 9), slow: method("slow", 8), quick: method("quick", 1) };
const choice = (name: string) => ({ method: name, params: { a: 1 } });

test("methods without chosen settings have their first; those that failed or have none are told", () => {
  const failed = { method: "slow", outcome: "failed", reason: "failed: so" };
  const left = { method: "quick", outcome: "left_out", reason: "no turn" };
  const report = { candidates: [left, failed] } as never;
  const empty = { ...method("empty", 1), grid: () => [] };
  expect(untuned({ families: [choice("popularity")], report }, { ...methods, empty }, data)).toEqual({
    choices: [choice("quick")],
    notMeasured: [
      { name: "slow", reason: "failed: so" },
      {
        name: "empty",
        reason: "it has no settings for data like these: they are too few, or have nothing that it needs",
      },
    ],
  });
});
test("cheap ones first, popularity before all", () => {
  const sorted = cheapFirst([choice("slow"), choice("popularity"), choice("quick")], methods, data);
  expect(sorted.map(({ method }) => method)).toEqual(["popularity", "quick", "slow"]);
});
test("what takes too long or too much memory is told", () => {
  const why = (secondsLeft: number, memoryMbMax: number) =>
    tooMuchFor(choice("slow"), methods, { data, secondsLeft, memoryMbMax });
  expect([why(9, 2), why(7, 2), why(9, 0.5), why(0, 2)]).toEqual([
    undefined,
    "it needs about 8 s to fit, and 7.0 s are left",
    "it needs about 1 MB to fit, and may use 0 MB",
    "no time was left for it",
  ]);
});
test("a share is told, and twice it is the end, but never more than there is", () => {
  expect([shareOf(60, 4), shareOf(60, 1)]).toEqual([
    { secondsMax: 15, secondsHard: 30 },
    { secondsMax: 60, secondsHard: 60 },
  ]);
});
test("no fit is told less than it is predicted to take at least, nor more than there is", () => {
  expect([shareOf(60, 4, 20), shareOf(60, 4, 50), shareOf(60, 4, 90)]).toEqual([
    { secondsMax: 20, secondsHard: 40 },
    { secondsMax: 50, secondsHard: 60 },
    { secondsMax: 60, secondsHard: 60 },
  ]);
});
test("lists are as many as the seconds allow, within bounds", () => {
  expect([listsWithin(900, 1000), listsWithin(900, 1_000_000), listsWithin(1, 1000)]).toEqual([
    200_000, 58_823, 20_000,
  ]);
});
