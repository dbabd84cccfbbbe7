import { expect, test } from "vitest";
import { createHolders } from "../../../edge/admission/holders.ts";

const key = (end: string) => `rk_${"0".repeat(36 - end.length)}${end}`;

test("whose key has been valid is known by it; of others nobody is", () => {
  const holders = createHolders(10);
  holders.note(key("aaaaaaaa"), "acme");
  holders.note(key("bbbbbbbb"), "bolt");
  expect([holders.of(key("aaaaaaaa")), holders.of(key("bbbbbbbb"))]).toEqual(["acme", "bolt"]);
  expect([holders.of(key("cccccccc")), holders.of(undefined), holders.of(""), holders.of("x")]).toEqual([
    "",
    "",
    "",
    "",
  ]);
});

test("those whose keys were valid longest ago are forgotten first", () => {
  const holders = createHolders(2);
  for (const name of ["a", "b", "a", "c"]) holders.note(key(name.repeat(8)), name);
  expect(["a", "b", "c"].map((name) => holders.of(key(name.repeat(8))))).toEqual(["a", "", "c"]);
});
