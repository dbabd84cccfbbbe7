import { afterAll, beforeAll, expect, test } from "vitest";
import { RANK_BODY_BYTES_MAX } from "../../shared/api.ts";
import { erasureHash } from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { addErasedUsers } from "../../trainer/store/erased-list.ts";
import { overlongModel, SHOP_ITEMS, shopDataset, shopItemId } from "../fixtures/edge-shop.ts";
import { type Call, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge();
  await edge.publish();
  await edge.publish({ modelName: "numbers", dataset: shopDataset("integer") });
});
afterAll(() => edge.stop());

const TEN_SECONDS = { timeout: 10_000, interval: 100 };
const RANK = "/v0/models/shop/rank";
const check = async (query: string, expected: unknown) => {
  const answer = await edge.call(`${RANK}${query}`);
  expect([answer.status, await answer.json()]).toEqual([200, expected]);
};
const checkBody = async (body: unknown, expected: unknown, path = RANK) => {
  const answer = await edge.call(path, { body });
  expect([answer.status, await answer.json()]).toEqual([200, expected]);
};
const refused = async (code: string, path: string, call: Call = {}) => {
  const answer = await edge.call(path, call);
  const problem = (await answer.json()) as { code: string; status: number; errors: { pointer: string }[] };
  expect([problem.code, problem.status]).toEqual([code, answer.status]);
  expect(problem.errors.every(({ pointer }) => pointer === "" || pointer.startsWith("/"))).toBe(true);
};

// Ann chose 0 and 1, so item 2 scores 1/3 + 1/2 and so on down; Bob chose 5 and has seen 4.
test("a known user gets the nearest items, and no seen one", () =>
  check("?user_id=ann", ["i2", "i3", "i4", "i5", "i6", "i7"]));
test("items shown but not chosen are seen too", () => check("?user_id=bob", ["i6", "i3", "i7", "i2", "i1", "i0"]));
test("fewer items than the limit are a normal answer", () => check("?user_id=7&limit=500", ["i3"]));
test("an unknown user gets popular items", () => check("?user_id=carol&limit=3", ["i0", "i1", "i2"]));
test("a call without a user gets popular items", () => check("?limit=1", ["i0"]));
test("GET and POST agree", () => checkBody({ user_id: "bob", limit: 2 }, ["i6", "i3"]));
test("a session alone is enough, and its own items are never returned", () =>
  checkBody({ interactions: [{ item_id: "i7" }], limit: 3 }, ["i6", "i5", "i4"]));
test("a session follows the stored history: 2 scores 1/3 + 1/2 + 1/6, 6 scores 1/7 + 1/6 + 1/2, 3 less", () =>
  checkBody({ user_id: "ann", interactions: [{ item_id: "i7" }], limit: 2 }, ["i2", "i6"]));
test("exclude_seen: false returns seen items, but not those of the session", () =>
  checkBody(
    { user_id: "7", exclude_seen: false, interactions: [{ item_id: "i3" }] },
    expect.not.arrayContaining(["i3"]),
  ));
test("the whole list is filtered before it is cut", () =>
  checkBody({ user_id: "ann", limit: 2, retrieval: { category: "hats", price: { $gte: 40 } } }, ["i5", "i7"]));
test("an empty list is a normal answer", () => checkBody({ retrieval: { category: { $in: [] } } }, []));
test("a POST without a body gets the default list", async () => {
  const answer = await edge.call(RANK, { method: "POST" });
  expect([answer.status, ((await answer.json()) as string[]).length]).toEqual([200, 8]);
});

const NUMBERS = "/v0/models/numbers/rank";
test("integer ids are returned as numbers, and accepted as numbers and as text", async () => {
  await checkBody({ user_id: "ann", limit: 2 }, [102, 103], NUMBERS);
  for (const item_id of [107, "107"])
    await checkBody({ interactions: [{ item_id }], limit: 1, retrieval: { item_id: { $ne: 106 } } }, [105], NUMBERS);
  for (const user_id of [7, "7"]) await checkBody({ user_id }, [103], NUMBERS);
});

test("500 interactions are accepted, and those unknown to the model are counted", async () => {
  const interactions = [...Array.from({ length: 499 }, (_, i) => ({ item_id: `x${i}` })), { item_id: "i0" }];
  const answer = await edge.call(RANK, { body: { interactions, limit: 1 } });
  expect([answer.status, await answer.json()]).toEqual([200, ["i1"]]);
  expect(answer.headers.get("x-ignored-interactions")).toBe("499");
  await refused("too_many_interactions", RANK, { body: { interactions: [...interactions, { item_id: "i1" }] } });
});

test.each([
  ["?user_id=ann", "personalized"],
  ["?user_id=carol", "popular"],
  ["", "popular"],
])("%s is answered with its headers", async (query, strategy) => {
  const answer = await edge.call(`${RANK}${query}`, { headers: { "x-request-id": "my-request-1" } });
  const { headers } = answer;
  expect(headers.get("x-rank-strategy")).toBe(strategy);
  expect(headers.get("x-request-id")).toBe("my-request-1");
  expect(headers.get("x-rank-id")).toMatch(/^\d{8}T\d+Z-[0-9a-f]{8}\.[0-9a-f-]{18}$/);
  expect(headers.get("x-model-version")).toMatch(/^\d{8}T\d+Z-[0-9a-f]{8}$/);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("server-timing")).toMatch(/^version;dur=\d+, record;dur=\d+, turn;dur=\d+$/);
  expect(headers.get("content-type")).toContain("application/json");
});
test("a session's strategy is session", async () => {
  const answer = await edge.call(RANK, { body: { interactions: [{ item_id: "i1" }] } });
  expect(answer.headers.get("x-rank-strategy")).toBe("session");
});

test.each(["0", "-1", "501", "1e9", "abc", "1.5", "", "0x10", "+5", "05", "9007199254740993", "NaN"])(
  "limit=%s is out of range, never coerced",
  (limit) => refused("limit_out_of_range", `${RANK}?limit=${encodeURIComponent(limit)}`),
);
test.each([0, -1, 501, 1e9, 1.5, "15", null, true, [5]])("a limit of %j in a body is out of range", (limit) =>
  refused("limit_out_of_range", RANK, { body: { limit } }),
);

const BAD_BODIES: [string, string, unknown][] = [
  ["half a JSON", "invalid_json", '{"limit": 1'],
  ["a bare word", "invalid_json", "hello"],
  ["bytes that are not UTF-8", "invalid_json", Uint8Array.of(0x7b, 0xff, 0x7d)],
  ["a list", "invalid_parameter", "[]"],
  ["null", "invalid_parameter", "null"],
  ["a number", "invalid_parameter", "7"],
  ["an unknown field", "unknown_field", { limt: 3 }],
  ["the prototype as a field", "unknown_field", '{"__proto__": {"limit": 3}}'],
  ["a user id that is a list", "invalid_parameter", { user_id: ["ann"] }],
  ["an empty user id", "invalid_parameter", { user_id: "" }],
  ["a user id of 257 bytes", "invalid_parameter", { user_id: "x".repeat(257) }],
  ["a user id with NUL", "invalid_parameter", { user_id: "a\0b" }],
  ["a user id with half a surrogate pair", "invalid_parameter", '{"user_id": "\\ud800"}'],
  ["a user id beyond 2^53", "invalid_parameter", '{"user_id": 9007199254740993}'],
  ["interactions that are ids", "invalid_parameter", { interactions: ["i1"] }],
  ["an interaction without item_id", "missing_field", { interactions: [{}] }],
  ["an interaction with more", "unknown_field", { interactions: [{ item_id: "i1", weight: 3 }] }],
  ["exclude_seen as text", "invalid_parameter", { exclude_seen: "no" }],
  ["a filter that is a list", "invalid_filter", { retrieval: [] }],
  ["an unknown operator", "invalid_filter", { retrieval: { price: { $regex: "x" } } }],
  ["an unknown attribute", "unknown_attribute", { retrieval: { colour: "red" } }],
  ["a price that is text", "filter_type_mismatch", { retrieval: { price: { $gt: "cheap" } } }],
  ["a filter nested 40 deep", "filter_too_large", { retrieval: nested(40) }],
  ["a filter nested 10,000 deep", "filter_too_large", `{"retrieval": ${'{"$not":'.repeat(6000)}{}${"}".repeat(6000)}}`],
  ["a filter of 1,001 values", "filter_too_large", { retrieval: { price: { $in: Array(1001).fill(1) } } }],
  ["20,000 opening brackets", "invalid_json", "[".repeat(20_000)],
  ["20,000 nested lists", "invalid_parameter", `${"[".repeat(20_000)}${"]".repeat(20_000)}`],
];
test.each(BAD_BODIES)("%s: %s", (_, code, body) => refused(code, RANK, { body }));
function nested(depth: number): object {
  return depth === 0 ? {} : { $not: nested(depth - 1) };
}

test.each([
  ["?limit=1&limit=2", "invalid_parameter"],
  ["?user=ann", "unknown_field"],
  [`?user_id=${"x".repeat(300)}`, "invalid_parameter"],
  ["?user_id=", "invalid_parameter"],
  [`?user_id=${"x".repeat(9000)}`, "uri_too_long"],
])("the query %.20s is refused: %s", (query, code) => refused(code, `${RANK}${query}`));
test("a POST with query parameters is refused with the place where they belong", () =>
  refused("unknown_field", `${RANK}?limit=3`, { body: {} }));

test("a body of 64 KiB is read, one byte more is too large, with and without a content-length", async () => {
  const padded = (size: number) => `{"limit":1${" ".repeat(size - 11)}}`;
  await checkBody(padded(RANK_BODY_BYTES_MAX), ["i0"]);
  await refused("body_too_large", RANK, { body: padded(RANK_BODY_BYTES_MAX + 1) });
  const { key } = await edge.issueKey();
  // The body ends after the answer, since writing to a closed connection fails.
  const { promise: answered, resolve: end } = Promise.withResolvers<void>();
  const stream = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(padded(2 * RANK_BODY_BYTES_MAX)));
      await answered;
      controller.close();
    },
  });
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await fetch(`${edge.url}${RANK}`, {
    method: "POST",
    headers,
    body: stream,
    duplex: "half",
  } as RequestInit);
  expect(answer.status).toBe(413);
  end();
});
test.each(["text/plain", "application/x-www-form-urlencoded", ""])("a body of type %j is refused", (type) =>
  refused("unsupported_media_type", RANK, { body: "{}", headers: { "content-type": type } }),
);

test("an unknown name, another customer's model and an invalid name are not found, in the same words", async () => {
  const { key } = await edge.issueKey({ customer: "globex" });
  const words = async (name: string, call: Call = {}) => {
    const answer = await edge.call(`/v0/models/${name}/rank`, call);
    const { request_id: _, ...problem } = (await answer.json()) as Record<string, unknown>;
    const headers = [...answer.headers].filter(
      ([header]) => !["x-request-id", "content-length", "date"].includes(header),
    );
    return JSON.stringify([answer.status, headers, problem]).replaceAll(name, "NAME");
  };
  const unknown = await words("nothing");
  expect(unknown).toContain("model_not_found");
  expect(await words("shop", { key })).toBe(unknown);
  for (const name of ["..%2Fglobex%2Fshop", "%00", "shop%0A", "a%2Fb"])
    await refused("model_not_found", `/v0/models/${name}/rank`);
});

test("a filter that does not fit the model is refused before the user's record is read", async () => {
  await edge.publish({ modelName: "unread" });
  const path = "/v0/models/unread/rank";
  await edge.call(path);
  const pagesRead = async () => (await edge.reads()).filter(({ key }) => key.includes("/blobs/")).length;
  await pagesRead();
  await refused("unknown_attribute", path, { body: { user_id: "ann", retrieval: { nothing: 1 } } });
  expect(await pagesRead()).toBe(0);
  await checkBody({ user_id: "ann", limit: 1, retrieval: { price: { $gte: 0 } } }, ["i2"], path);
  expect(await pagesRead()).toBe(1);
});

test("calls beyond capacity are refused after a tenth of a second, and their log is one line a second", async () => {
  const busy = await startEdge({ vars: { QUEUE_MS_MAX: 1, KEY_CACHE_SECONDS: 25, POINTER_CACHE_SECONDS: 4 } });
  try {
    await busy.publish();
    await busy.call(RANK);
    const startedMs = Date.now();
    let refused: Response | undefined;
    await expect
      .poll(async () => {
        const answers = await Promise.all(Array.from({ length: 100 }, () => busy.call(RANK)));
        refused = answers.find(({ status }) => status === 503);
        return refused !== undefined;
      }, TEN_SECONDS)
      .toBe(true);
    expect(refused!.headers.get("retry-after")).toBe("1");
    const id = refused!.headers.get("x-request-id")!;
    expect(await refused!.json()).toMatchObject({ code: "overloaded", request_id: id });
    const seconds = Math.ceil((Date.now() - startedMs) / 1000) + 1;
    const refusals = () => busy.log.filter((line) => line.includes("ranks_refused")).length;
    await expect.poll(refusals).toBeGreaterThan(0);
    expect(refusals()).toBeLessThanOrEqual(seconds);
    expect(busy.log.filter((line) => line.includes(`${id}"`))).toEqual([]);
  } finally {
    await busy.stop();
  }
});

test("a user that is erased while a version loads is ranked without a record", async () => {
  await edge.publish({ customer: "erases" });
  const { key } = await edge.issueKey({ customer: "erases" });
  await edge.inject({ keys: "/blobs/", kind: "slow", slowMs: 600 }); // for the graph and then the weights, after the list was read
  const answer = edge.call(`${RANK}?user_id=ann`, { key });
  await new Promise((resolve) => setTimeout(resolve, 150));
  const salt = "00112233445566778899aabbccddeeff";
  await addErasedUsers(edge.store, "erases", { salt, hashes: [await erasureHash(salt, "ann" as UserId)] });
  expect((await answer).headers.get("x-rank-strategy")).toBe("popular");
  await edge.inject(undefined);
  expect((await edge.call(`${RANK}?user_id=bob`, { key })).headers.get("x-rank-strategy")).toBe("personalized");
});

test("a version that cannot rank a call answers it with 503, and other calls as usual", async () => {
  await edge.publish({ modelName: "overlong", exported: overlongModel() });
  const path = "/v0/models/overlong/rank";
  const interactions = Array.from({ length: SHOP_ITEMS }, (_, item) => ({ item_id: shopItemId(item, "string") }));
  const answer = await edge.call(path, { body: { interactions } });
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await answer.json()).toMatchObject({
    code: "artifact_unavailable",
    detail: expect.stringContaining("cannot rank"),
  });
  await checkBody({ interactions: interactions.slice(0, 7) }, ["i7"], path);
});
