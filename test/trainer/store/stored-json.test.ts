import { expect, test } from "vitest";
import { storedJson } from "../../../trainer/store/stored-json.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("stored bytes are parsed as JSON; undefined when they are not JSON", () => {
  expect(storedJson(bytes('{"a":[1,null]}'))).toEqual({ a: [1, null] });
  expect(storedJson(bytes("null"))).toBe(null);
  for (const damaged of ["", '{"a":', "undefined", "\u0000"]) expect(storedJson(bytes(damaged))).toBe(undefined);
});
