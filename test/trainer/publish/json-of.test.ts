import { expect, test } from "vitest";
import { jsonOf } from "../../../trainer/publish/json-of.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("stored bytes are what their JSON says, and undefined where they are none", () => {
  expect(jsonOf(bytes('{"a":[1,null]}'))).toEqual({ a: [1, null] });
  expect(jsonOf(bytes("null"))).toBe(null);
  for (const damaged of ["", '{"a":', "undefined", "\u0000"]) expect(jsonOf(bytes(damaged))).toBe(undefined);
});
