/** How the client treats failures and batches events. test/system/clients.test.ts calls the real service. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterEach, expect, expectTypeOf, test, vi } from "vitest";
import {
  type ItemId,
  type RankedItems,
  type RankRequest,
  Shortlist,
  ShortlistError,
} from "../../../edge/client/shortlist.ts";

type Sent = { readonly url: string; readonly init: RequestInit; readonly atMs: number };
type Reply = (sent: Sent) => Response | Promise<Response>;

/** A client whose requests are answered by these replies in order; the last one answers all further requests. */
function clientWith(replies: readonly Reply[], options: { timeoutMs?: number; batchMs?: number } = {}) {
  const sent: Sent[] = [];
  const left = [...replies];
  const answered = async (url: unknown, init: RequestInit = {}) => {
    init.signal?.throwIfAborted();
    const request = { url: String(url), init, atMs: performance.now() };
    sent.push(request);
    return await (left.length > 1 ? left.shift()! : left[0]!)(request);
  };
  return { sent, client: new Shortlist({ url: "http://edge/", apiKey: "rk_key", fetch: answered, ...options }) };
}

const ok =
  (body: unknown): Reply =>
  () =>
    Response.json(body);
const problem =
  (status: number, code: string, { headers = {}, errors = [] as object[] } = {}): Reply =>
  () =>
    Response.json(
      { code, detail: `It is ${code}.`, errors },
      { status, headers: { "x-request-id": "r-1", ...headers } },
    );
const offline: Reply = () => {
  throw new TypeError("fetch failed");
};
/** Never answers, like a real request whose signal is aborted later. */
const silent: Reply = ({ init }) =>
  new Promise((_, reject) => init.signal!.addEventListener("abort", () => reject(init.signal!.reason)));
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail("It did not fail."),
    (error: ShortlistError) => error,
  );
const eventsIn = ({ init }: Sent) => (JSON.parse(init.body as string) as { events: Record<string, unknown>[] }).events;
const view = (item: string) => ({ user_id: "ann", item_id: item, type: "view" });
const stored = ok({ accepted: 1, duplicates: 0 });

afterEach(() => vi.unstubAllGlobals());

test("a rank call is one POST with the key and the body", async () => {
  const { client, sent } = clientWith([ok(["i1", "i2"])]);
  expect(await client.rank("my shop", { user_id: "ann", limit: 2 })).toEqual(["i1", "i2"]);
  const [{ url, init }] = sent as [Sent];
  expect([init.method, url]).toEqual(["POST", "http://edge/v0/models/my%20shop/rank"]);
  expect(init.headers).toMatchObject({ "x-api-key": "rk_key", "content-type": "application/json" });
  expect(JSON.parse(init.body as string)).toEqual({ user_id: "ann", limit: 2 });
});

test("the type of the answer follows from the request", () => {
  const { client } = clientWith([ok([])]);
  const any: RankRequest = {};
  expectTypeOf(() => client.rank("shop")).returns.resolves.toEqualTypeOf<ItemId[]>();
  expectTypeOf(() => client.rank("shop", { user_id: 7 })).returns.resolves.toEqualTypeOf<ItemId[]>();
  expectTypeOf(() => client.rank("shop", { return: ["scores"] })).returns.resolves.toEqualTypeOf<RankedItems>();
  expectTypeOf(() => client.rank("shop", any)).returns.resolves.toEqualTypeOf<ItemId[] | RankedItems>();
  expectTypeOf(() => client.rank("shop", { scenario: "home" })).returns.resolves.toEqualTypeOf<
    ItemId[] | RankedItems
  >();
  // @ts-expect-error: no such field
  void client.rank("shop", { users: 7 });
});

test("a refusal is a typed error and is not repeated", async () => {
  const errors = [{ pointer: "/limit", code: "limit_out_of_range", message: "must be an integer" }];
  const { client, sent } = clientWith([problem(400, "limit_out_of_range", { errors })]);
  const error = await failureOf(client.rank("shop", { limit: 0 }));
  expect(error).toBeInstanceOf(ShortlistError);
  expect({ ...error, message: error.message }).toMatchObject({
    code: "limit_out_of_range",
    status: 400,
    message: "It is limit_out_of_range.",
    errors,
    requestId: "r-1",
  });
  expect(sent).toHaveLength(1);
});

test("an answer that is no JSON is an error, also with status 200", async () => {
  const { client } = clientWith([() => new Response("<html>")]);
  expect(await failureOf(client.viewModel("shop"))).toMatchObject({ code: "unexpected_answer", status: 200 });
});

test("an overloaded edge is asked again after Retry-After, a failed connection after a short while", async () => {
  const { client, sent } = clientWith([
    problem(503, "overloaded", { headers: { "retry-after": "1" } }),
    offline,
    ok(["i1"]),
  ]);
  expect(await client.rank("shop")).toEqual(["i1"]);
  const [first, second, third] = sent.map(({ atMs }) => atMs) as [number, number, number];
  expect(second - first).toBeGreaterThan(995);
  expect(third - second).toBeGreaterThan(245);
  expect(third - second).toBeLessThan(1500);
});

test("it gives up after three attempts, and at once if Retry-After exceeds the timeout", async () => {
  const always = clientWith([offline]);
  expect(await failureOf(always.client.rank("shop"))).toMatchObject({ code: "network", status: 0 });
  expect(always.sent).toHaveLength(3);
  const late = clientWith([problem(429, "rate_limited", { headers: { "retry-after": "60" } })]);
  const error = await failureOf(late.client.rank("shop"));
  expect(error).toMatchObject({ code: "rate_limited", retryAfterSeconds: 60 });
  expect(late.sent).toHaveLength(1);
});

test("a call with an effect is not repeated when it may have happened", async () => {
  for (const call of ["trainModel", "deleteModel"] as const) {
    const { client, sent } = clientWith([offline]);
    await failureOf(client[call]("shop"));
    expect(sent).toHaveLength(1);
  }
  const { client, sent } = clientWith([offline, ok({ model_name: "shop" })]);
  await client.createModel({} as never); // the service recognises the repetition
  const keys = sent.map(({ init }) => (init.headers as Record<string, string>)["idempotency-key"]);
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[1]).toBe(keys[0]);
});

test("a call ends at its timeout", async () => {
  const { client } = clientWith([silent]);
  const startMs = performance.now();
  expect(await failureOf(client.rank("shop", {}, { timeoutMs: 60 }))).toMatchObject({ code: "timeout", status: 0 });
  expect(performance.now() - startMs).toBeLessThan(1000);
});

test("an aborted call throws the reason of its signal, also between two attempts", async () => {
  for (const reply of [silent, problem(503, "overloaded", { headers: { "retry-after": "5" } })]) {
    const { client, sent } = clientWith([reply]);
    const startMs = performance.now();
    const reason = new Error("the page has changed");
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 40);
    expect(await failureOf(client.rank("shop", {}, { signal: controller.signal }))).toBe(reason);
    expect(performance.now() - startMs).toBeLessThan(1000);
    expect(sent).toHaveLength(1);
  }
});

test("events of one turn are one request, and those passed meanwhile are the next one", async () => {
  const { client, sent } = clientWith([
    async () => {
      await new Promise((done) => setTimeout(done, 50));
      return Response.json({ accepted: 2, duplicates: 0 });
    },
    stored,
  ]);
  const first = Promise.all([client.events(view("i1")), client.events([view("i2")])]);
  await expect.poll(() => sent.length).toBe(1);
  await Promise.all([first, client.events(view("i3")), client.events(view("i4"))]);
  expect(sent.map((one) => eventsIn(one).map(({ item_id }) => item_id))).toEqual([
    ["i1", "i2"],
    ["i3", "i4"],
  ]);
});

test("events wait for batchMs", async () => {
  const { client, sent } = clientWith([stored], { batchMs: 80 });
  const startMs = performance.now();
  await client.events(view("i1"));
  expect(sent[0]!.atMs - startMs).toBeGreaterThan(75);
});

test("events are sent again with the same ids, and an id of the caller is kept", async () => {
  const { client, sent } = clientWith([offline, problem(503, "events_unavailable"), stored]);
  await client.events([view("i1"), { ...view("i2"), event_id: "mine" }]);
  const ids = sent.map((one) => eventsIn(one).map(({ event_id }) => event_id));
  expect(ids).toHaveLength(3);
  expect(ids[0]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), "mine"]);
  expect(ids[1]).toEqual(ids[0]);
  expect(ids[2]).toEqual(ids[0]);
});

test("one wrong event fails alone: the others of its request are sent again", async () => {
  const errors = [{ pointer: "/events/1/user_id", code: "invalid_parameter", message: "must not be empty" }];
  const { client, sent } = clientWith([problem(400, "invalid_parameter", { errors }), stored]);
  const [first, wrong, third] = ["i1", "i2", "i3"].map((item) => client.events(view(item)));
  expect(await failureOf(wrong!)).toMatchObject({ code: "invalid_parameter" });
  await Promise.all([first, third]);
  expect(sent.map((one) => eventsIn(one).map(({ item_id }) => item_id))).toEqual([
    ["i1", "i2", "i3"],
    ["i1", "i3"],
  ]);
});

test("a request has at most 500 events and 60 kB, and the queue 10,000 events", async () => {
  const { client, sent } = clientWith([stored]);
  await client.events(Array.from({ length: 1200 }, (_, i) => view(`i${i}`)));
  await client.events(Array.from({ length: 400 }, (_, i) => view(`é${i}`.padEnd(120, "é"))));
  for (const { init } of sent) expect(Buffer.byteLength(init.body as string)).toBeLessThan(60_100);
  expect(Math.max(...sent.map((one) => eventsIn(one).length))).toBeGreaterThan(400);
  expect(sent.flatMap(eventsIn)).toHaveLength(1600);
  const tooMany = Array.from({ length: 10_001 }, () => view("i1"));
  expect(await failureOf(client.events(tooMany))).toMatchObject({ code: "queue_full" });
});

test("a page that is hidden sends its waiting events at once, in a request that outlives the page", async () => {
  const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  vi.stubGlobal("document", page);
  const { client, sent } = clientWith([stored], { batchMs: 60_000 });
  const waiting = client.events(view("i1"));
  page.dispatchEvent(new Event("visibilitychange"));
  await new Promise((done) => setTimeout(done, 20));
  expect(sent).toHaveLength(0);
  page.visibilityState = "hidden";
  page.dispatchEvent(new Event("visibilitychange"));
  await waiting;
  expect(sent.map(({ init }) => (init as { keepalive?: boolean }).keepalive)).toEqual([true]);
});

test("a training is waited for, and its failure thrown", async () => {
  const record = (state: string) => ({ training: { state }, failure: { code: "no_rows", message: "It has no rows." } });
  const { client } = clientWith([ok(record("TRAINING")), ok(record("IDLE"))]);
  const seen: string[] = [];
  await client.waitForTraining("shop", { onRecord: ({ training }) => seen.push(training.state) });
  expect(seen).toEqual(["TRAINING", "IDLE"]);
  const failed = clientWith([ok(record("FAILED"))]);
  expect(await failureOf(failed.client.waitForTraining("shop"))).toMatchObject({ code: "no_rows" });
});

test("queued changes of items are sent like events, those of each model in requests of their own", async () => {
  const { client, sent } = clientWith([ok({ changed: 1, ignored: 0 })]);
  const hide = (item_id: string) => ({ item_id, hidden: true });
  await Promise.all([
    client.queueItemChanges("shop", hide("i1")),
    client.queueItemChanges("shop", [hide("i2"), hide("i1")]),
    client.queueItemChanges(
      "books",
      Array.from({ length: 1001 }, (_, i) => hide(`b${i}`)),
    ),
  ]);
  expect(sent.map(({ url, init }) => `${init.method} ${url}`)).toEqual([
    "PATCH http://edge/v0/models/shop/items",
    ...Array(2).fill("PATCH http://edge/v0/models/books/items"),
  ]);
  const items = sent.map(({ init }) => (JSON.parse(init.body as string) as { items: object[] }).items);
  expect(items.map(({ length }) => length)).toEqual([3, 1000, 1]);
  expect(items[0]).toEqual([hide("i1"), hide("i2"), hide("i1")]);
});

test("one wrong change fails alone", async () => {
  const errors = [{ pointer: "/items/0/attributes/colour", code: "unknown_attribute", message: "is not an attribute" }];
  const { client, sent } = clientWith([problem(400, "unknown_attribute", { errors }), ok({ changed: 1, ignored: 0 })]);
  const wrong = client.queueItemChanges("shop", { item_id: "i1", attributes: { colour: "red" } });
  await Promise.all([failureOf(wrong), client.queueItemChanges("shop", { item_id: "i2", hidden: true })]);
  expect(sent.map(({ init }) => init.body)).toHaveLength(2);
});

test("a search sends its filter as JSON text", async () => {
  const { client, sent } = clientWith([ok({ items: [], total: 0, version: "v" })]);
  await client.findItems("shop", { search: "red lamp", retrieval: { price: { $lt: 9 } }, limit: 5 });
  const { pathname, searchParams } = new URL(sent[0]!.url);
  expect([pathname, Object.fromEntries(searchParams)]).toEqual([
    "/v0/models/shop/items",
    { search: "red lamp", retrieval: '{"price":{"$lt":9}}', limit: "5" },
  ]);
});

test("it is at most 4 kB for a browser", async () => {
  const entryPoints = ["edge/client/shortlist.ts"];
  const { outputFiles } = await build({ entryPoints, bundle: true, minify: true, format: "esm", write: false });
  const code = outputFiles[0]!.text;
  expect(code).not.toContain("import");
  expect(gzipSync(code).length).toBeLessThan(4000);
});
