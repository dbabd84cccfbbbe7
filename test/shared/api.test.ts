import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  MANAGEMENT_BODY_BYTES_MAX,
  parseListQuery,
  parseRankBody,
  parseRankQuery,
  parseSimilarBody,
  parseSimilarQuery,
  queryOf,
  RANK_BODY_BYTES_MAX,
  RANK_LIMIT_DEFAULT,
  RANK_LIMIT_MAX,
  SESSION_MAX,
  searchOf,
} from "../../shared/api.ts";
import { Problem } from "../../shared/problem.ts";

function problemOf(parse: () => unknown): Problem {
  try {
    parse();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const query = (text: string) => parseRankQuery(new URLSearchParams(text));
const list = (text: string) => parseListQuery(new URLSearchParams(text));

test("the numbers of the contract", () =>
  expect({
    limits: [RANK_LIMIT_DEFAULT, RANK_LIMIT_MAX, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX],
    session: SESSION_MAX,
    bodies: [RANK_BODY_BYTES_MAX, MANAGEMENT_BODY_BYTES_MAX],
  }).toEqual({ limits: [15, 500, 50, 100], session: 500, bodies: [64 * 1024, 256 * 1024] }));

test("an empty request asks for fifteen popular items", () => {
  const nothing = {
    userId: undefined,
    limit: RANK_LIMIT_DEFAULT,
    session: [],
    filter: undefined,
    excludeSeen: true,
  };
  expect(parseRankBody({})).toEqual(nothing);
  expect(query("")).toEqual(nothing);
});

test("a whole body", () => {
  const body = {
    user_id: "u7",
    limit: 3,
    interactions: [{ item_id: 5 }, { item_id: "a b" }],
    retrieval: { price: { $lt: 5 } },
    exclude_seen: false,
  };
  expect(parseRankBody(body)).toMatchObject({ userId: "u7", limit: 3, session: ["5", "a b"], excludeSeen: false });
  expect(parseRankBody(body).filter).toMatchObject({ kind: "compare", attribute: "price" });
});

test("given candidates may have been seen, unless the call says otherwise", () => {
  expect(parseRankBody({ item_ids: [5, "b"] })).toMatchObject({ itemIds: ["5", "b"], excludeSeen: false });
  expect(parseRankBody({ item_ids: [5], exclude_seen: true }).excludeSeen).toBe(true);
  expect(query("item_ids=5,b")).toMatchObject({ itemIds: ["5", "b"], excludeSeen: false });
  expect(problemOf(() => query("item_ids=5,")).errors[0]).toMatchObject({ pointer: "/item_ids/1" });
});
test("fields that shape the list, and none without them", () => {
  const body = {
    boosts: [{ retrieval: { brand: "acme" }, by: -2 }],
    diversity: 0.5,
    exploration: 1,
    seed: 7,
    max_per_value: { brand: 2 },
    pinned: [3],
  };
  const { boosts, maxPerValue, ...shaping } = parseRankBody(body).shaping!;
  expect(shaping).toEqual({ diversity: 0.5, exploration: 1, seed: 7, pinned: ["3"] });
  expect(boosts).toMatchObject([{ by: -2, filter: { kind: "in", attribute: "brand", values: ["acme"] } }]);
  expect(maxPerValue).toEqual(new Map([["brand", 2]]));
  expect(parseRankBody({ limit: 3, seed: 1 }).shaping).toBeUndefined();
});
test("a call that asks for an object, by body and by query", () => {
  const wanted = { scores: true, reasons: false };
  expect(parseRankBody({ return: ["scores", "metadata"] })).toMatchObject({ details: ["scores", "metadata"], wanted });
  expect(query("return=scores,metadata")).toMatchObject({ details: ["scores", "metadata"], wanted });
  expect(query("return=").details).toEqual([]);
  expect(query("limit=3").details).toBeUndefined();
});
test("similar items, by body and by query", () => {
  expect(parseSimilarBody({ item_id: 5, limit: 3, diversity: 1 })).toMatchObject({
    similarTo: "5",
    limit: 3,
    session: [],
  });
  const similar = parseSimilarQuery(new URLSearchParams("item_id=i5&user_id=u&limit=2&return=scores"));
  expect(similar).toMatchObject({ similarTo: "i5", userId: "u", limit: 2, excludeSeen: true, details: ["scores"] });
});
test.each<[object, string, string, string]>([
  [{ item_ids: [] }, "/item_ids", "invalid_parameter", "at least 1 entry long"],
  [{ item_ids: Array(1001).fill(1) }, "/item_ids", "invalid_parameter", "at most 1000"],
  [{ return: ["score"] }, "/return/0", "invalid_parameter", '"scores" or "metadata" or "reasons" or "history"'],
  [{ boosts: [{ by: 1 }] }, "/boosts/0/retrieval", "missing_field", "is required"],
  [{ boosts: [{ retrieval: [], by: 1 }] }, "/boosts/0/retrieval", "invalid_parameter", "must be an object"],
  [{ boosts: [{ retrieval: {}, by: 11 }] }, "/boosts/0/by", "invalid_parameter", "at most 10"],
  [{ boosts: [{ retrieval: { a: [] }, by: 1 }] }, "/boosts/0/retrieval/a", "invalid_filter", "$in"],
  [{ boosts: Array(11).fill({ retrieval: {}, by: 1 }) }, "/boosts", "invalid_parameter", "at most 10"],
  [{ diversity: 1.5 }, "/diversity", "invalid_parameter", "at most 1"],
  [{ exploration: "1" }, "/exploration", "invalid_parameter", "must be a number"],
  [{ seed: -1 }, "/seed", "invalid_parameter", "at least 0"],
  [{ max_per_value: { a: 0 } }, "/max_per_value/a", "invalid_parameter", "at least 1"],
  [{ max_per_value: { a: 1, b: 1, c: 1, d: 1 } }, "/max_per_value", "invalid_parameter", "at most 3 attributes"],
  [{ pinned: Array(21).fill(1) }, "/pinned", "invalid_parameter", "at most 20"],
  [{ diverstiy: 1 }, "/diverstiy", "unknown_field", 'did you mean "diversity"?'],
])("%j is refused", (body, pointer, code, message) =>
  expect(problemOf(() => parseRankBody(body)).errors).toMatchObject([
    { pointer, code, message: expect.stringContaining(message) },
  ]),
);
test("similar items need an item", () =>
  expect(problemOf(() => parseSimilarBody({})).errors).toMatchObject([{ pointer: "/item_id", code: "missing_field" }]));

test("a call for similar items may name a basket, whose last item references mean", () => {
  const basket = parseSimilarBody({ item_ids: [5, "b"], relation: "together" });
  expect(basket).toMatchObject({ similarTo: "b", basket: ["5", "b"], relation: "together", excludeSeen: true });
  expect(basket.itemIds).toBeUndefined();
  expect(parseSimilarQuery(new URLSearchParams("item_ids=5,b&relation=together"))).toEqual(basket);
  expect(parseSimilarBody({ item_id: 5, relation: "similar" })).toEqual(parseSimilarBody({ item_id: 5 }));
  const errorsOf = (body: object) => problemOf(() => parseSimilarBody(body)).errors;
  expect(errorsOf({ item_id: 5, item_ids: [6] })).toMatchObject([{ pointer: "/item_ids", code: "invalid_parameter" }]);
  expect(errorsOf({ item_ids: [] })).toMatchObject([{ pointer: "/item_ids", code: "invalid_parameter" }]);
  expect(errorsOf({ item_ids: Array(21).fill(5) })).toMatchObject([{ pointer: "/item_ids" }]);
  expect(errorsOf({ item_id: 5, relation: "instead" })).toMatchObject([{ pointer: "/relation" }]);
});

test.each(["", "?", "?a=1", "?a=1?b=2", "?a=1#b?c", "#?a=1"])(
  "the query of an address that ends in %j is that of a URL",
  (end) => {
    const url = `https://shop.example/rank${end}`;
    expect(new URLSearchParams(searchOf(url)).toString()).toBe(new URL(url).searchParams.toString());
  },
);
test("bytes that are not UTF-8 are refused instead of read as another user's id", () => {
  const read = (search: string) => parseRankQuery(queryOf(`https://shop.example/rank?${search}`));
  expect(problemOf(() => read("user_id=caf%E9"))).toMatchObject({
    code: "invalid_parameter",
    errors: [{ pointer: "/user_id" }],
  });
  expect(read("user_id=caf%C3%A9").userId).toBe("café");
  expect(read("user_id=100%").userId).toBe("100%");
  expect(read(`user_id=${encodeURIComponent("\uFFFD")}`).userId).toBe("\uFFFD");
  expect(problemOf(() => read("user_id=%FF%EF%BF%BD"))).toMatchObject({ code: "invalid_parameter" });
  expect(problemOf(() => read("a=%ef%bf%bd&user_id=%E2%EF%BF%BD%82%AC")).errors[0]?.pointer).toBe("/user_id");
});
test("errors for parameters sent twice are limited", () => {
  const twice = Array.from({ length: 200 }, (_, i) => `p${i}=1&p${i}=2`).join("&");
  expect(problemOf(() => query(twice)).errors).toHaveLength(50);
});

test("a whole query", () => expect(query("user_id=u%207&limit=500")).toMatchObject({ userId: "u 7", limit: 500 }));

test.each<[unknown, string]>([
  [7, "7"],
  ["7", "7"],
  [-7, "-7"],
  [-0, "0"],
  [Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ["007", "007"],
  ["é", "é"],
])("id %j has the text %j, for users and for items", (id, text) => {
  expect(parseRankBody({ user_id: id }).userId).toBe(text);
  expect(parseRankBody({ interactions: [{ item_id: id }] }).session).toEqual([text]);
});

describe("ids that are refused", () => {
  test.each<[unknown, string]>([
    ["", "must not be empty"],
    ["x".repeat(257), "at most 256 bytes"],
    ["é".repeat(129), "at most 256 bytes"],
    ["a\0b", "must not contain the character NUL"],
    ["\ud800", "well-formed Unicode"],
    [1.5, "must be a string or an integer, found 1.5"],
    [9007199254740992, "beyond 2^53−1, where JSON numbers lose digits: send it as a string"],
    [-1e300, "send it as a string"],
    [true, "must be a string or a number, found true"],
    [null, "must be a string or a number, found null"],
    [["a"], "found a list of 1"],
    [{}, "found an object"],
  ])("%.20j", (id, sentence) => {
    const user = problemOf(() => parseRankBody({ user_id: id }));
    expect(user.errors).toHaveLength(1);
    expect(user.errors[0]).toMatchObject({ pointer: "/user_id", code: "invalid_parameter" });
    expect(user.message).toContain(sentence);
    const item = problemOf(() => parseRankBody({ interactions: [{ item_id: "a" }, { item_id: id }] }));
    expect(item.errors[0]).toMatchObject({ pointer: "/interactions/1/item_id", code: "invalid_parameter" });
  });
  test("ids in a query are text", () => {
    expect(problemOf(() => query("user_id=")).message).toContain("must not be empty");
    expect(problemOf(() => query(`user_id=${"x".repeat(257)}`)).message).toContain("256 bytes");
    expect(problemOf(() => query("user_id=%00")).message).toContain("NUL");
    expect(query("user_id=9007199254740993").userId).toBe("9007199254740993");
  });
});

describe("the limit is an integer from 1 to 500, and nothing is coerced", () => {
  test.each([1, 2, RANK_LIMIT_MAX])("%i is a limit", (limit) => {
    expect(parseRankBody({ limit }).limit).toBe(limit);
    expect(query(`limit=${limit}`).limit).toBe(limit);
  });
  test.each<unknown>([0, -1, 501, 1e9, 1.5, 1e300, "15", "abc", "", null, true, [15], {}])("%j in a body", (limit) => {
    const problem = problemOf(() => parseRankBody({ limit }));
    expect(problem.code).toBe("limit_out_of_range");
    expect(problem.errors[0]).toMatchObject({ pointer: "/limit", code: "limit_out_of_range" });
    expect(problem.message).toContain("must be an integer from 1 to 500");
  });
  test.each([
    "0",
    "-1",
    "501",
    "1e9",
    "1000000000",
    "15.0",
    " 5",
    "5 ",
    "+5",
    "05",
    "0x5",
    "5e1",
    "abc",
    "",
    "1_0",
    "٥",
    "NaN",
    "Infinity",
  ])("%j in a query", (limit) =>
    expect(problemOf(() => query(`limit=${encodeURIComponent(limit)}`)).code).toBe("limit_out_of_range"),
  );
});

test.each<[string, unknown, string, string]>([
  ["a body that is a list", [], "invalid_parameter", ""],
  ["a body that is text", "x", "invalid_parameter", ""],
  ["an unknown field", { limt: 5 }, "unknown_field", "/limt"],
  [
    "an unknown field of an interaction",
    { interactions: [{ item_id: 1, rating: 5 }] },
    "unknown_field",
    "/interactions/0/rating",
  ],
  ["an interaction without an item", { interactions: [{}] }, "missing_field", "/interactions/0/item_id"],
  ["an interaction that is an id", { interactions: ["a"] }, "invalid_parameter", "/interactions/0"],
  ["interactions that are not a list", { interactions: { item_id: 1 } }, "invalid_parameter", "/interactions"],
  [
    "too many interactions",
    { interactions: Array(SESSION_MAX + 1).fill({ item_id: 1 }) },
    "too_many_interactions",
    "/interactions",
  ],
  ["exclude_seen that is not a boolean", { exclude_seen: "false" }, "invalid_parameter", "/exclude_seen"],
  ["a filter that is null", { retrieval: null }, "invalid_filter", "/retrieval"],
  ["a filter with a bare list", { retrieval: { a: [1] } }, "invalid_filter", "/retrieval/a"],
])("%s", (_, body, code, pointer) => {
  const problem = problemOf(() => parseRankBody(body));
  expect(problem.code).toBe(code);
  expect(problem.errors[0]!.pointer).toBe(pointer);
});

test("the largest number of interactions is allowed", () =>
  expect(parseRankBody({ interactions: Array(SESSION_MAX).fill({ item_id: 1 }) }).session).toHaveLength(SESSION_MAX));

test.each([
  ["limit=5&limit=5", "invalid_parameter", "/limit", "was sent twice"],
  ["user_id=a&user_id=b", "invalid_parameter", "/user_id", "was sent twice"],
  ["a/b=1&a/b=2", "invalid_parameter", "/a~1b", "was sent twice"],
  ["limt=5", "unknown_field", "/limt", 'did you mean "limit"?'],
  ["interactions=a", "unknown_field", "/interactions", "is not a field"],
  ["__proto__=a", "unknown_field", "/__proto__", "is not a field"],
])("the query %s is refused", (text, code, pointer, sentence) => {
  const problem = problemOf(() => query(text));
  expect(problem.code).toBe(code);
  expect(problem.errors[0]!.pointer).toBe(pointer);
  expect(problem.message).toContain(sentence);
});

test("any body at all is parsed or refused by a Problem", () =>
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.dictionary(
          fc.constantFrom("user_id", "limit", "interactions", "retrieval", "exclude_seen", "x"),
          fc.jsonValue(),
        ),
      ),
      (body) => {
        try {
          const parsed = parseRankBody(body);
          expect(parsed.limit).toBeGreaterThanOrEqual(1);
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      },
    ),
    { numRuns: 500 },
  ));

test("listing: defaults, all parameters, and what is refused", () => {
  expect(list("")).toEqual({ limit: LIST_LIMIT_DEFAULT });
  expect(list(`limit=${LIST_LIMIT_MAX}&cursor=abc&status=ACTIVE&name_contains=sho`)).toEqual({
    limit: 100,
    cursor: "abc",
    status: "ACTIVE",
    nameContains: "sho",
  });
  expect(problemOf(() => list(`name_contains=${"x".repeat(64)}`))).toMatchObject({ code: "invalid_parameter" });
  expect(list(`cursor=${"x".repeat(500)}`).cursor).toHaveLength(500);
  for (const limit of ["0", "101", "x", "1.0", ""])
    expect(problemOf(() => list(`limit=${limit}`))).toMatchObject({ code: "limit_out_of_range" });
  expect(problemOf(() => list("status=active")).message).toContain('must be "SCHEDULING" or');
  expect(problemOf(() => list("cursor="))).toMatchObject({ code: "invalid_parameter" });
  expect(problemOf(() => list(`cursor=${"x".repeat(501)}`))).toMatchObject({ code: "invalid_parameter" });
  expect(problemOf(() => list("page=2"))).toMatchObject({ code: "unknown_field" });
  expect(problemOf(() => list("limit=1&limit=2")).message).toContain("sent twice");
});
