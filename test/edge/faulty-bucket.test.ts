/** While the bucket fails, an answer is right or a 503: never a seen item, never a request that hangs. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { hashApiKey } from "../../shared/api-key.ts";
import { erasureHash } from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { keyRecordKey } from "../../shared/key-record.ts";
import { blobKey } from "../../shared/manifest.ts";
import { addErasedUsers } from "../../trainer/store/erased-list.ts";
import { shopItemId, shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { READ_TIMEOUT_MS: 100, RECORD_MEGABYTES: 0, KEY_CACHE_SECONDS: 0 } }); // every call reads
});
beforeEach(() => edge.inject(undefined));
afterAll(() => edge.stop());

const RANK = "/v0/models/shop/rank";
const ANN = `${RANK}?user_id=ann`;
const RIGHT = [2, 3, 4, 5, 6, 7].map((item) => shopItemId(item, "string"));
const TEN_SECONDS = { timeout: 10_000, interval: 100 };

test.each(["error", "hang", "slow", "missing", "flip", "truncate"] as const)(
  "with reads that %s at a chance of 0.3, every answer is right or a 503",
  async (kind) => {
    const modelName = `model-${kind}`;
    const path = `/v0/models/${modelName}/rank?user_id=ann`;
    await edge.publish({ modelName });
    const { key } = await edge.issueKey();
    expect((await edge.call(path, { key })).status).toBe(200); // the reads of a version are tested in live-versions.test.ts
    await edge.inject({ keys: "", kind, chance: 0.3 });
    const startedMs = Date.now();
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([1, 2, 3, 4].map(() => edge.call(path, { key })));
      for (const answer of answers) {
        const body = await answer.json();
        // A missing object looks like a key or a model that never existed.
        if (kind === "missing" && (answer.status === 401 || answer.status === 404)) continue;
        if (answer.status === 200) expect(body).toEqual(RIGHT);
        else {
          expect([answer.status, body]).toEqual([503, expect.objectContaining({ code: expect.any(String) })]);
          expect(answer.headers.get("retry-after")).toBeTruthy();
        }
      }
    }
    expect(Date.now() - startedMs).toBeLessThan(30_000);
    expect(await edge.inject(undefined)).toBeGreaterThan(0);
    await expect.poll(async () => (await edge.call(path, { key })).status, TEN_SECONDS).toBe(200);
  },
);

test("whatever byte of a key's record is damaged, no caller becomes another customer, and the damaged record is not kept", async () => {
  await edge.publish();
  const { key } = await edge.issueKey();
  const { bytes } = (await edge.store.get(keyRecordKey(await hashApiKey(key))))!;
  for (let at = 0; at < bytes.length; at += 3) {
    await edge.inject({ keys: "keys/", kind: "flip", at });
    const answer = await edge.call(RANK, { key });
    expect([at, answer.status, await answer.json()]).toEqual([
      at,
      503,
      expect.objectContaining({ code: "artifact_unavailable" }),
    ]);
  }
  await edge.inject(undefined);
  expect((await edge.call(RANK, { key })).status).toBe(200);
});

test("a user record that cannot be read is 503, never a list with seen items", async () => {
  const { manifest } = await edge.publish();
  expect(await (await edge.call(ANN)).json()).toEqual(RIGHT);
  const pages = blobKey("acme", "shop", manifest.users!.pages[0]!.digest);
  for (const kind of ["error", "missing", "flip", "truncate"] as const) {
    await edge.inject({ keys: pages, kind });
    const answer = await edge.call(ANN);
    expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
      503,
      "2",
      expect.objectContaining({ code: "user_record_unavailable" }),
    ]);
    expect((await edge.call(RANK)).status).toBe(200); // needs no record
  }
});
test("a user whose record is in memory is ranked while reads fail, and a damaged page is not kept", async () => {
  const keeping = await startEdge({ vars: { READ_TIMEOUT_MS: 100 } });
  try {
    for (const kind of ["error", "missing", "flip", "truncate"] as const) {
      const modelName = `kept-${kind}`;
      const ann = () => keeping.call(`/v0/models/${modelName}/rank?user_id=ann`);
      const { manifest } = await keeping.publish({ modelName });
      expect((await keeping.call(`/v0/models/${modelName}/rank`)).status).toBe(200);
      const pages = blobKey("acme", modelName, manifest.users!.pages[0]!.digest);
      await keeping.inject({ keys: pages, kind });
      expect((await ann()).status).toBe(503);
      await keeping.inject(undefined);
      expect(await (await ann()).json()).toEqual(RIGHT);
      await keeping.inject({ keys: pages, kind });
      expect(await (await ann()).json()).toEqual(RIGHT);
      await keeping.inject(undefined);
    }
  } finally {
    await keeping.stop();
  }
});
test("with SERVE_UNFILTERED a call is ranked without a record whose reads fail or hang, and a header says so", async () => {
  const bold = await startEdge({ vars: { SERVE_UNFILTERED: true, RECORD_MEGABYTES: 0, READ_TIMEOUT_MS: 200 } });
  try {
    const { manifest } = await bold.publish();
    expect((await bold.call(ANN)).headers.get("x-seen-filter")).toBeNull();
    for (const kind of ["error", "hang"] as const) {
      await bold.inject({ keys: blobKey("acme", "shop", manifest.users!.pages[0]!.digest), kind });
      const answer = await bold.call(ANN);
      expect([answer.status, answer.headers.get("x-seen-filter")]).toEqual([200, "unavailable"]);
      expect(answer.headers.get("x-rank-strategy")).toBe("popular");
    }
  } finally {
    await bold.stop();
  }
});

test("files that are damaged in the bucket are refused by their digest, and served once they are repaired", async () => {
  for (const [modelName, damage] of [
    ["flipped", (bytes: Uint8Array) => bytes.with(100, bytes[100]! ^ 1)],
    ["cut", (bytes: Uint8Array) => bytes.slice(1)],
  ] as const) {
    const { files } = await edge.publish({ modelName });
    const weights = files.find(({ descriptor }) => descriptor.media_type.endsWith("weights"))!;
    const at = blobKey("acme", modelName, weights.descriptor.digest);
    const put = async (bytes: Uint8Array) => {
      await edge.store.delete(at);
      await edge.store.putIfAbsent(at, bytes, "application/octet-stream");
    };
    const status = async () => (await edge.call(`/v0/models/${modelName}/rank`)).status;
    await put(damage(weights.body as Uint8Array));
    expect(await status()).toBe(503);
    await put(weights.body as Uint8Array);
    await expect.poll(status, TEN_SECONDS).toBe(200);
  }
});

test("while half of the reads return an old live pointer, each answer is right for the version that it names", async () => {
  const modelName = "back-and-forth";
  const session = { interactions: [{ item_id: "i0" }], limit: 2 };
  const rank = () => edge.call(`/v0/models/${modelName}/rank`, { body: session });
  const lists = new Map([[(await edge.publish({ modelName })).version, ["i1", "i2"]]]);
  expect((await rank()).status).toBe(200);
  const newer = await edge.publish({ modelName, exported: shopModel({ isReversed: true }) });
  lists.set(newer.version, ["i7", "i6"]);
  await edge.inject({ keys: "live.json", kind: "stale", chance: 0.5 });
  for (let call = 0; call < 40; call++) {
    const answer = await rank();
    expect([answer.status, await answer.json()]).toEqual([200, lists.get(answer.headers.get("x-model-version")!)]);
  }
  await edge.inject(undefined);
  const versionOf = async () => (await rank()).headers.get("x-model-version");
  await expect.poll(versionOf, TEN_SECONDS).toBe(newer.version);
});

test.each(["error", "hang", "flip", "truncate"] as const)(
  "an erased user gets the list of an unknown one, or 503, while reads of the list %s",
  async (kind) => {
    const customer = `erases-${kind}`;
    await edge.publish({ customer });
    const { key } = await edge.issueKey({ customer });
    const salt = "00112233445566778899aabbccddeeff";
    await addErasedUsers(edge.store, customer, { salt, hashes: [await erasureHash(salt, "ann" as UserId)] });
    const ann = async () => {
      const answer = await edge.call(ANN, { key });
      return [
        answer.status,
        answer.status === 200 ? await answer.json() : ((await answer.json()) as { code: string }).code,
      ];
    };
    await edge.inject({ keys: "erased-users", kind }); // before this isolate has read it
    expect(await ann()).toEqual([503, "user_record_unavailable"]);
    await edge.inject(undefined);
    const unknown = [200, await (await edge.call(`${RANK}?user_id=nobody`, { key })).json()];
    await edge.inject({ keys: "erased-users", kind });
    // The list was read for the unknown user, and is used for a while.
    expect(await ann()).toEqual(unknown);
    await edge.inject(undefined);
    expect(await ann()).toEqual(unknown);
  },
);

test("a call whose version loads slowly is answered 503 at its deadline, and the load goes on", async () => {
  const hurried = await startEdge({ vars: { RANK_TIMEOUT_MS: 1000, READ_TIMEOUT_MS: 6000 } });
  try {
    await hurried.publish();
    const { key } = await hurried.issueKey();
    await hurried.inject({ keys: "/blobs/", kind: "slow", slowMs: 1200 });
    const popular = "/v0/models/shop/rank";
    const answer = await hurried.call(popular, { key });
    expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
      503,
      "2",
      expect.objectContaining({
        code: "artifact_unavailable",
        detail: expect.stringContaining("in time"),
      }),
    ]);
    await expect.poll(async () => (await hurried.call(popular, { key })).status, TEN_SECONDS).toBe(200);
  } finally {
    await hurried.stop();
  }
});
