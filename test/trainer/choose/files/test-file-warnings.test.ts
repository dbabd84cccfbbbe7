import { expect, test } from "vitest";
import { testFileWarnings } from "../../../../trainer/choose/files/test-file-warnings.ts";
import { rowsWhere } from "../../../../trainer/read/dataset/split.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const whole = twoTastes({ users: 40, items: 20, perUser: 5 });
const rows = (isIn: (row: number) => boolean) => rowsWhere(whole, isIn);
const none = { ...whole, ...rows(() => true), positive: new Uint8Array(200) };
const set = { protocol: "set", includeSeen: false } as const;

test("an ordinary test file gives no warning", () => {
  const files = { train: rows((row) => row % 5 < 4), test: rows((row) => row % 5 === 4) };
  expect(testFileWarnings(files, { count: 40 }, set)).toEqual([]);
});
test("a warning if hardly any user or item is known", () => {
  const apart = { train: rows((row) => row < 100), test: rows((row) => row >= 100) };
  const users = "Only 0 of 20 users of the test file are in the train file: are their ids written alike?";
  expect(testFileWarnings(apart, { count: 20 }, set)).toEqual([users]);
  expect(testFileWarnings(apart, { count: 20 }, { ...set, protocol: "sessions" })).toEqual([]);
  const strange = {
    ...apart,
    train: rows((row) => whole.items[row]! < 10),
    test: rows((row) => whole.items[row]! >= 10),
  };
  expect(testFileWarnings(strange, { count: 20 }, set)).toEqual([
    "Only 0 of 10 items of the test file are in the train file: are their ids written alike?",
  ]);
});
test("a warning with the reason if no list can be measured", () => {
  const again = { train: whole, test: rows((row) => row % 5 === 0) };
  expect(testFileWarnings(again, { count: 0 }, set)).toEqual([
    "Nothing is measured: the 40 positive rows have items that the user has in the train file (--include-seen counts them).",
  ]);
  expect(testFileWarnings({ train: whole, test: none }, { count: 0 }, { ...set, includeSeen: true })).toEqual([
    "Nothing is measured: 200 of 200 rows are not positive by their label.",
  ]);
  expect(testFileWarnings(again, { count: 0 }, { ...set, protocol: "sessions" })).toEqual([
    "Nothing is measured: no session of the test file has two positive rows.",
  ]);
});
