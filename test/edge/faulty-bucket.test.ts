/** The promise while the bucket fails: the right answer or a clean 503, never a seen item, never a hung request. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { blobKey } from "../../shared/manifest.ts";
import { shopItemId } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { READ_TIMEOUT_MS: 100 } });
});
beforeEach(() => edge.inject(undefined));
afterAll(() => edge.stop());

const RANK = "/v0/models/shop/rank";
const ANN = `${RANK}?user_id=ann`;
const RIGHT = [2, 3, 4, 5, 6, 7].map((item) => shopItemId(item, "string"));
const TEN_SECONDS = { timeout: 10_000, interval: 100 };

test.each(["error", "hang", "slow", "missing", "flip", "truncate"] as const)(
  "with reads that %s at a chance of 0.3, every answer is right or says to come back",
  async (kind) => {
    const modelName = `model-${kind}`;
    const path = `/v0/models/${modelName}/rank?user_id=ann`;
    await edge.publish({ modelName });
    const { key } = await edge.issueKey();
    await edge.inject({ keys: "", kind, chance: 0.3 });
    const startedMs = Date.now();
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all([1, 2, 3, 4].map(() => edge.call(path, { key })));
      for (const answer of answers) {
        const said = await answer.json();
        // What is missing cannot be told from what never was: a key, a model.
        if (kind === "missing" && (answer.status === 401 || answer.status === 404)) continue;
        if (answer.status === 200) expect(said).toEqual(RIGHT);
        else {
          expect([answer.status, said]).toEqual([503, expect.objectContaining({ code: expect.any(String) })]);
          expect(answer.headers.get("retry-after")).toBeTruthy();
        }
      }
    }
    expect(Date.now() - startedMs).toBeLessThan(30_000);
    await edge.inject(undefined);
    await expect.poll(async () => (await edge.call(path, { key })).status, TEN_SECONDS).toBe(200);
  },
);

test("a user record that cannot be read is 503, never a list with seen items", async () => {
  const { manifest } = await edge.publish();
  expect(await (await edge.call(ANN)).json()).toEqual(RIGHT);
  const pages = blobKey("acme", "shop", manifest.users!.pages[0]!.digest);
  for (const kind of ["error", "missing", "flip", "truncate"] as const) {
    await edge.inject({ keys: pages, kind });
    const answer = await edge.call(ANN);
    expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
      503,
      "1",
      expect.objectContaining({ code: "user_record_unavailable" }),
    ]);
    expect((await edge.call(RANK)).status).toBe(200); // needs no record
  }
});
test("where the operator has chosen so, it ranks without the record and says it", async () => {
  const bold = await startEdge({ vars: { SERVE_UNFILTERED: true } });
  const { manifest } = await bold.publish();
  expect((await bold.call(ANN)).headers.get("x-seen-filter")).toBeNull();
  await bold.inject({ keys: blobKey("acme", "shop", manifest.users!.pages[0]!.digest), kind: "error" });
  const answer = await bold.call(ANN);
  await bold.stop();
  expect([answer.status, answer.headers.get("x-seen-filter")]).toEqual([200, "unavailable"]);
  expect(answer.headers.get("x-rank-strategy")).toBe("popular");
});

test("files that were damaged in the bucket itself are refused by digest, and served again once whole", async () => {
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
