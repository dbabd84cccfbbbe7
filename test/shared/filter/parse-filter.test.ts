import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filterProblem } from "../../../shared/filter/filter-problem.ts";
import {
  FILTER_BYTES_MAX,
  FILTER_DEPTH_MAX,
  FILTER_TESTS_MAX,
  FILTER_VALUES_MAX,
  parseFilter,
} from "../../../shared/filter/parse-filter.ts";
import { Problem } from "../../../shared/problem.ts";
import { queries } from "../../fixtures/filter-shop.ts";

function problemOf(value: unknown): Problem {
  try {
    parseFilter(value);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("every operator becomes one of two tests", () => {
  const isIn = (values: unknown[], path: string) => ({
    kind: "in",
    attribute: "a",
    values,
    pointer: "/retrieval/a",
    path,
  });
  const not = (of: unknown) => ({ kind: "not", of });
  const parse = (condition: unknown) => parseFilter({ a: condition });
  expect(parse(1)).toEqual(isIn([1], ""));
  expect(parse({ $eq: null })).toEqual(isIn([null], "/$eq"));
  expect(parse({ $ne: "x" })).toEqual(not(isIn(["x"], "/$ne")));
  expect(parse({ $in: [1, "x", true] })).toEqual(isIn([1, "x", true], "/$in"));
  expect(parse({ $nin: [] })).toEqual(not(isIn([], "/$nin")));
  expect(parse({ $exists: false })).toEqual(isIn([null], "/$exists"));
  expect(parse({ $exists: true })).toEqual(not(isIn([null], "/$exists")));
  expect(parse({ $all: ["x", "y"] })).toEqual({ kind: "and", of: [isIn(["x"], "/$all/0"), isIn(["y"], "/$all/1")] });
  expect(parse({ $not: { $eq: 1 } })).toEqual(not(isIn([1], "/$not/$eq")));
  expect(parse({ $gt: 1 })).toMatchObject({ kind: "compare", operator: "$gt", value: 1, path: "/$gt" });
  expect(parseFilter({})).toEqual({ kind: "and", of: [] });
  const inner = (pointer: string) => ({ ...isIn([1], ""), pointer });
  expect(parseFilter({ $nor: [{ a: 1 }] })).toEqual(not(inner("/retrieval/$nor/0/a")));
  const either = { kind: "or", of: [inner("/retrieval/$or/0/a"), { kind: "and", of: [] }] };
  expect(parseFilter({ $or: [{ a: 1 }, {}] })).toEqual(either);
});

test("every well-formed query is parsed, and nothing else happens", () =>
  fc.assert(
    fc.property(queries.string, (query) => {
      const before = JSON.stringify(query);
      parseFilter(query);
      expect(JSON.stringify(query)).toBe(before);
    }),
    { numRuns: 1000 },
  ));

test("any JSON at all is parsed or refused by a Problem about the filter", () =>
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 12 }), (value) => {
      try {
        parseFilter(value);
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
        expect(["invalid_filter", "filter_too_large"]).toContain((error as Problem).code);
        expect((error as Problem).errors[0]!.pointer).toMatch(/^\/retrieval/);
      }
    }),
    { numRuns: 1000 },
  ));

describe("what is not well formed is refused, with its place and a hint", () => {
  test.each<[unknown, string, string]>([
    [null, "/retrieval", "must be an object, found null"],
    ["x", "/retrieval", 'must be an object, found "x"'],
    [[{ a: 1 }], "/retrieval", "must be an object, found a list of 1"],
    [{ $and: [] }, "/retrieval/$and", "must not be empty"],
    [{ $or: [] }, "/retrieval/$or", "must not be empty"],
    [{ $nor: [] }, "/retrieval/$nor", "must not be empty"],
    [{ $or: { a: 1 } }, "/retrieval/$or", "must be a list of queries, found an object"],
    [{ $or: [{ a: 1 }, 5] }, "/retrieval/$or/1", "must be an object, found 5"],
    [{ $not: [] }, "/retrieval/$not", "must be an object, found a list of 0"],
    [{ a: ["x", "y"] }, "/retrieval/a", '{"$in": […]}'],
    [{ a: { $not: ["x"] } }, "/retrieval/a/$not", '{"$in": […]}'],
    [{ a: { $in: "x" } }, "/retrieval/a/$in", 'must be a list of values, found "x"'],
    [{ a: { $all: { x: 1 } } }, "/retrieval/a/$all", "must be a list of values, found an object"],
    [{ a: { $in: ["x", ["y"]] } }, "/retrieval/a/$in/1", "must be text, a number, true, false or null"],
    [{ a: { $in: [{}] } }, "/retrieval/a/$in/0", "found an object"],
    [{ a: { $eq: [1] } }, "/retrieval/a/$eq", "found a list of 1"],
    [{ a: { $gt: null } }, "/retrieval/a/$gt", "must be a number or text"],
    [{ a: { $lte: true } }, "/retrieval/a/$lte", "must be a number or text"],
    [{ a: { $exists: 1 } }, "/retrieval/a/$exists", "must be true or false, found 1"],
    [{ a: { b: 1 } }, "/retrieval/a/b", "is not an operator"],
    [{ a: { $gte: 1, le: 2 } }, "/retrieval/a/le", "is not an operator"],
    [{ a: { $gtt: 1 } }, "/retrieval/a/$gtt", 'did you mean "$gt"?'],
    [{ a: { $and: [{ b: 1 }] } }, "/retrieval/a/$and", "is not an operator here"],
    [{ $an: [{ a: 1 }] }, "/retrieval/$an", 'did you mean "$and"?'],
    [{ $in: [1] }, "/retrieval/$in", "known are $and $or $nor $not"],
    [{ a: { $regex: "^x" } }, "/retrieval/a/$regex", "is not supported: patterns"],
    [{ $where: "1" }, "/retrieval/$where", "is not supported: code is never run"],
    [{ tags: { $elemMatch: { $eq: 1 } } }, "/retrieval/tags/$elemMatch", "is not supported"],
    [{ $expr: {} }, "/retrieval/$expr", "is not supported"],
    [{ a: { $toString: 1 } }, "/retrieval/a/$toString", "is not an operator here"],
    [{ "x/y~": { $in: 1 } }, "/retrieval/x~1y~0/$in", "must be a list"],
    [{ a: Number.POSITIVE_INFINITY }, "/retrieval/a", "found Infinity"],
    [{ a: "\ud800" }, "/retrieval/a", "lone surrogates"],
    [{ a: { $in: ["\udc00"] } }, "/retrieval/a/$in/0", "lone surrogates"],
  ])("%j", (value, pointer, sentence) => {
    const problem = problemOf(value);
    expect(problem.code).toBe("invalid_filter");
    expect(problem.errors).toHaveLength(1);
    expect(problem.errors[0]).toMatchObject({ pointer, code: "invalid_filter" });
    expect(problem.errors[0]!.message).toContain(sentence);
    expect(problem.message).toBe(`${pointer} ${problem.errors[0]!.message}`);
  });
});

const nested = (depth: number): unknown => (depth === 1 ? { a: 1 } : { $not: nested(depth - 1) });
const nestedCondition = (depth: number): unknown => (depth === 1 ? { $eq: 1 } : { $not: nestedCondition(depth - 1) });
const times = (count: number) => Array.from({ length: count }, (_, i) => ({ a: i }));
const list = (count: number) => Array.from({ length: count }, (_, i) => i);
const bytes = (size: number) => ({ a: "é".repeat((size - 8) / 2) }); // {"a":""} has 8 bytes

describe("bounds: the most that is allowed, and one more", () => {
  test.each<[string, unknown, unknown]>([
    ["levels of queries", nested(FILTER_DEPTH_MAX), nested(FILTER_DEPTH_MAX + 1)],
    ["levels of conditions", { a: nestedCondition(FILTER_DEPTH_MAX) }, { a: nestedCondition(FILTER_DEPTH_MAX + 1) }],
    ["tests", { $or: times(FILTER_TESTS_MAX) }, { $or: [...times(FILTER_TESTS_MAX - 1), { b: { $gt: 1, $lt: 2 } }] }],
    ["queries in a list", { $or: times(FILTER_TESTS_MAX) }, { $or: list(FILTER_TESTS_MAX + 1).map(() => ({})) }],
    ["values", { a: { $in: list(FILTER_VALUES_MAX) } }, { a: { $nin: list(FILTER_VALUES_MAX + 1) } }],
    ["values of $all", { a: { $all: list(FILTER_VALUES_MAX) } }, { a: { $all: list(FILTER_VALUES_MAX + 1) } }],
    ["bytes of JSON", bytes(FILTER_BYTES_MAX), bytes(FILTER_BYTES_MAX + 2)],
  ])("%s", (_, most, more) => {
    expect(() => parseFilter(most)).not.toThrow();
    expect(problemOf(more).code).toBe("filter_too_large");
  });

  test("a thousand levels do not exhaust the stack", () =>
    expect(problemOf(JSON.parse(`${'{"$not":'.repeat(9000)}{}${"}".repeat(9000)}`)).code).toBe("filter_too_large"));
});

test("pointers begin with the place of the filter", () => {
  expect(() => parseFilter({ $x: 1 }, "/filters/0")).toThrow("/filters/0/$x is not an operator here");
  expect(filterProblem("invalid_filter", "/p", "is wrong").errors).toEqual([
    { pointer: "/p", code: "invalid_filter", message: "is wrong" },
  ]);
});
