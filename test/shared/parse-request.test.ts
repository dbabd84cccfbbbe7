import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { parseJson, parseWith, pointerStep, problemOf, shown } from "../../shared/parse-request.ts";
import { Problem } from "../../shared/problem.ts";

const Schema = z.strictObject({
  name: z.string().min(2).max(4).optional(),
  count: z.int().optional(),
  either: z.union([z.string(), z.int()]).optional(),
  kind: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("Binary"), column: z.string() }),
      z.strictObject({ type: z.literal("Rating"), from: z.number() }),
    ])
    .optional(),
  list: z
    .array(z.strictObject({ item_id: z.string() }))
    .max(2)
    .optional(),
  state: z.enum(["ON", "OFF"]).optional(),
  custom: z.string().regex(/^a/, "must begin with a").optional(),
});

function problemFor(value: unknown, schema: z.ZodType = Schema, options = {}): Problem {
  try {
    parseWith(schema, value, options);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("a valid value is returned", () => {
  expect(parseWith(Schema, { count: 3 })).toEqual({ count: 3 });
  expect(parseWith(z.object({ n: z.int().default(5) }), {})).toEqual({ n: 5 });
});

test("errors repeat nothing from a field that may contain a secret", () => {
  const schema = z.strictObject({
    connectors: z.array(z.looseObject({ type: z.string().min(1) })).min(1),
    name: z.literal("a").optional(),
  });
  for (const connectors of ["hunter2", ["hunter2"], [{ type: ["hunter2"] }], [{ type: 5 }]]) {
    const problem = problemFor({ connectors, name: "b" }, schema, { hidden: "connectors" });
    expect(JSON.stringify(problem.errors)).not.toMatch(/hunter2|5/);
    expect(problem.errors.map(({ message }) => message).at(-1)).toContain('found "b"');
  }
  const foundIn = (connectors: unknown) =>
    problemFor({ connectors }, schema, { hidden: "connectors" }).message.replace(/.*found /, "");
  expect(["hunter2", [{ type: 5 }], [{ type: ["hunter2"] }], [{ type: null }]].map(foundIn)).toEqual([
    "text",
    "a number",
    "a list of 1",
    "null",
  ]);
});
describe("each fault has its place, its code and a sentence", () => {
  test.each<[unknown, string, string, string]>([
    [null, "", "invalid_parameter", "must be an object, found null"],
    [[], "", "invalid_parameter", "must be an object, found a list of 0"],
    ["x", "", "invalid_parameter", 'must be an object, found "x"'],
    [{ name: 5 }, "/name", "invalid_parameter", "must be a string, found 5"],
    [{ name: null }, "/name", "invalid_parameter", "must be a string, found null"],
    [{ name: "x" }, "/name", "invalid_parameter", "must be at least 2 characters long"],
    [{ name: "xxxxx" }, "/name", "invalid_parameter", "must be at most 4 characters long"],
    [{ count: 1.5 }, "/count", "invalid_parameter", "must be an integer, found 1.5"],
    [{ count: "1" }, "/count", "invalid_parameter", 'found "1"'],
    [{ either: true }, "/either", "invalid_parameter", "must be a string or a number, found true"],
    [{ kind: { type: "Stars" } }, "/kind/type", "invalid_parameter", 'must be "Binary" or "Rating", found "Stars"'],
    [{ kind: {} }, "/kind/type", "missing_field", "is required"],
    [{ kind: { type: "Binary" } }, "/kind/column", "missing_field", "is required"],
    [{ kind: { type: "Rating", from: 1, colum: 1 } }, "/kind/colum", "unknown_field", "known are type, from"],
    [{ list: [{ item_id: "a" }, {}] }, "/list/1/item_id", "missing_field", "is required"],
    [{ list: [{ item_id: "a", x: 1 }] }, "/list/0/x", "unknown_field", "known are item_id"],
    [{ list: [3] }, "/list/0", "invalid_parameter", "must be an object, found 3"],
    [{ list: [{}, {}, {}] }, "/list", "invalid_parameter", "must be at most 2 entries long"],
    [{ state: "on" }, "/state", "invalid_parameter", 'must be "ON" or "OFF", found "on"'],
    [{ custom: "b" }, "/custom", "invalid_parameter", "must begin with a"],
    [{ nam: "xx" }, "/nam", "unknown_field", 'is not a field of this call; did you mean "name"?'],
    [{ "a/b~": 1 }, "/a~1b~0", "unknown_field", "is not a field"],
    [JSON.parse('{"__proto__": 1}'), "/__proto__", "unknown_field", "is not a field"],
  ])("%j", (value, pointer, code, message) => {
    const problem = problemFor(value);
    expect(problem.code).toBe(code);
    expect(problem.errors).toHaveLength(1);
    expect(problem.errors[0]).toMatchObject({ pointer, code });
    expect(problem.errors[0]!.message).toContain(message);
    expect(problem.message).toContain(message);
  });
});

test("errors about numbers have no unit, and a single fault does not mention others", () =>
  expect(problemFor({ n: 10 }, z.strictObject({ n: z.int().max(9) })).message).toBe("/n must be at most 9"));

test("all faults are listed; the first one decides the code", () => {
  const problem = problemFor({ a: 1, count: "x", nam: 2 });
  expect(problem.errors.map((part) => [part.pointer, part.code])).toEqual([
    ["/count", "invalid_parameter"],
    ["/a", "unknown_field"],
    ["/nam", "unknown_field"],
  ]);
  expect(problem.code).toBe("invalid_parameter");
  expect(problem.message).toContain("(and 2 more: see errors)");
});

test("the error for an unknown key lists the keys of its object", () => {
  const Nested = z.strictObject({ alpha: z.strictObject({ one: z.int() }), beta: z.strictObject({ two: z.int() }) });
  const { errors } = problemFor({ alpha: { one: 1, x: 1 }, beta: { two: 2, x: 1 } }, Nested);
  expect(errors.map((part) => part.message)).toEqual([
    "is not a field of this call; known are one",
    "is not a field of this call; known are two",
  ]);
});

test("no known fields are listed for an object without fields", () => {
  const { errors } = problemFor({ x: 1 }, z.strictObject({}));
  expect(errors.map((part) => part.message)).toEqual(["is not a field of this call, which takes none here"]);
});

test("a union reports the faults of the branch that was meant", () => {
  const Either = z.strictObject({ v: z.union([z.string(), z.strictObject({ deep: z.strictObject({ x: z.int() }) })]) });
  expect(problemFor({ v: { deep: { x: "no" } } }, Either).errors).toEqual([
    { pointer: "/v/deep/x", code: "invalid_parameter", message: 'must be a number, found "no"' },
  ]);
  expect(problemFor({}, Either).errors).toEqual([{ pointer: "/v", code: "missing_field", message: "is required" }]);
});

test("a fault can have a special code and a pointer prefix", () => {
  const options = {
    at: "/rows/3",
    codeOf: (pointer: string) => (pointer === "/rows/3/count" ? "limit_out_of_range" : undefined),
  };
  expect(problemFor({ count: "x" }, Schema, options)).toMatchObject({
    code: "limit_out_of_range",
    errors: [{ pointer: "/rows/3/count", code: "limit_out_of_range" }],
  });
});

test("at most fifty faults are reported", () =>
  expect(
    problemFor(
      Array.from({ length: 1000 }, () => 1),
      z.array(z.string()),
    ).errors,
  ).toHaveLength(50));
test("faults beyond the limit cost nothing", () => {
  const asked: string[] = [];
  const codeOf = (pointer: string) => void asked.push(pointer);
  const list = Array.from({ length: 1000 }, () => 1);
  expect(() => parseWith(z.array(z.string()), list, { codeOf })).toThrow(Problem);
  expect(asked).toHaveLength(50);
  const misspelt = Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`interuction${i}`, 1]));
  const schema = z.strictObject({ interactions: z.any(), interaction_ids: z.any(), interactive: z.any() });
  const clock = performance.now();
  expect(() => parseWith(schema, misspelt)).toThrow("49 more");
  expect(performance.now() - clock).toBeLessThan(3000);
});
test("any JSON is parsed or refused by a Problem of bounded size", () =>
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom("name", "kind", "list", "either", "nmae"), fc.jsonValue()),
      (any, near) => {
        for (const value of [any, near]) {
          if (Schema.safeParse(value).success) continue;
          const problem = problemFor(value);
          expect(JSON.stringify(problem.errors).length).toBeLessThan(20_000);
          for (const part of problem.errors) expect(part.pointer).toMatch(/^(\/([^~/]|~0|~1)*)*$/);
        }
      },
    ),
  ));

test("the error for invalid JSON says where it is", () => {
  expect(parseJson('{"a": [1, null]}')).toEqual({ a: [1, null] });
  for (const text of ["", "  ", "{", "{'a': 1}", "nul", '{"a": 1,}', "\uFEFF{}"])
    expect(() => parseJson(text)).toThrow(Problem);
  expect(() => parseJson(" ")).toThrow("the body is empty; expected JSON");
  expect(() => parseJson('{"a": x}')).toThrow("the body is not JSON: Unexpected token 'x'");
  expect(() => parseJson('{"a": 1')).toThrow("position 7");
});

test("the error for invalid JSON does not quote the text, which may contain a secret", () => {
  const texts = [
    '{"password": hunter2, "more": "hunter2"}',
    '{"password":\nhunter2\n}',
    `{"k": "hunter2${"x".repeat(99)}" oops hunter2}`,
  ];
  for (const text of texts)
    try {
      parseJson(text);
    } catch (error) {
      expect((error as Problem).code).toBe("invalid_json");
      expect(`${(error as Problem).message} ${String((error as Problem).cause)}`).not.toContain("unter2");
    }
  expect.assertions(6);
});

test.each<[unknown, string]>([
  ["x", '"x"'],
  [1.5, "1.5"],
  [undefined, "undefined"],
  [[1, [2]], "a list of 2"],
  [{ secret: "value" }, "an object"],
  ["y".repeat(1000), `"${"y".repeat(79)}…`],
  [`${"y".repeat(78)}😀😀`, `"${"y".repeat(78)}…`],
  ["\ud83d", '"\\ud83d"'],
])("%.30j is shown as %.30s", (value, text) => expect(shown(value)).toBe(text));

test("a step of a pointer has no half of an emoji", () => expect(pointerStep("a\ud83d")).toBe("/a\ufffd"));

test("a step of a pointer is escaped as in RFC 6901", () =>
  expect(["a/b", "m~n", 0].map(pointerStep)).toEqual(["/a~1b", "/m~0n", "/0"]));

test("problemOf keeps a known code and replaces an unknown one", () => {
  const part = { pointer: "/x", message: "is wrong" };
  expect(problemOf([{ ...part, code: "missing_field" }]).code).toBe("missing_field");
  expect(problemOf([{ ...part, code: "column_missing" }]).code).toBe("invalid_parameter");
});
