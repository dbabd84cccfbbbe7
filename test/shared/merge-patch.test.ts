import { expect, test } from "vitest";
import { mergePatch, patchBetween } from "../../shared/merge-patch.ts";

/** The examples of RFC 7396, appendix A. */
test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("%j patched with %j is %j", (target, patch, expected) => expect(mergePatch(target, patch)).toEqual(expected));

test("nulls for members that do not exist can be kept", () =>
  expect(mergePatch({ a: { b: 1, c: 2 } }, { a: { b: null, d: null } }, "kept")).toEqual({ a: { c: 2, d: null } }));

test("a patch changes neither its target nor Object.prototype", () => {
  const target = { a: { b: 1 } };
  mergePatch(target, JSON.parse('{"a": {"b": 2}, "__proto__": {"polluted": true}}'));
  expect(target).toEqual({ a: { b: 1 } });
  expect(({} as Record<string, unknown>).polluted).toBe(undefined);
});

test.each([
  [{ a: 1, b: [1, 2], c: { d: 1, e: 2 } }, { c: { e: 2, d: 1 }, b: [1, 2], a: 1 }, {}],
  [{ a: 1 }, { b: "x" }, { a: null, b: "x" }],
  [{ a: { b: 1, c: 2 } }, { a: { c: 3 } }, { a: { b: null, c: 3 } }],
  [{ a: { b: [1, 2] } }, { a: { b: [2] } }, { a: { b: [2] } }],
  [{ a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
  [{ a: { b: 1 } }, { a: 1 }, { a: 1 }],
])("the patch from %j to %j is %j", (before, after, patch) => {
  expect(patchBetween(before, after)).toEqual(patch);
  expect(mergePatch(before, patch)).toEqual(after);
});
