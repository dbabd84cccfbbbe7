import { createHash, createHmac } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BucketGrants, bucketGrants } from "../../../trainer/store/bucket-grants.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import type { S3Options } from "../../../trainer/store/s3-request.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../../fixtures/local-r2.ts";
import { objectStoreSuite } from "../../suites/object-store-suite.ts";

const GRANT = { prefixes: ["models/acme/shop/"], objects: ["customers/acme/erased-users"], seconds: 60 };
const bytes = new Uint8Array(1);

test("for R2 the credentials are what Cloudflare documents: a signed JWT and its digest", async () => {
  const owner = { endpoint: "https://abc.r2.cloudflarestorage.com", bucket: "b", accessKeyId: "id" };
  const grants = await bucketGrants({ ...owner, secretAccessKey: "secret-of-the-owner" });
  const { secretAccessKey, sessionToken, ...same } = grants.options(GRANT);
  expect(same).toEqual(owner);
  const token = Buffer.from(sessionToken!, "base64").toString();
  expect(token).toMatch(/^jwt\//);
  const jwt = token.slice(4);
  expect(secretAccessKey).toBe(createHash("sha256").update(jwt).digest("hex"));
  const [header, payload, signature] = jwt.split(".") as [string, string, string];
  const hmac = createHmac("sha256", "secret-of-the-owner").update(`${header}.${payload}`);
  expect(signature).toBe(hmac.digest("base64url"));
  const parsed = [header, payload].map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));
  expect(parsed[0]).toEqual({ alg: "HS256", typ: "JWT" });
  expect(parsed[1]).toEqual({
    bucket: "b",
    scope: "object-read-write",
    paths: { prefixPaths: GRANT.prefixes, objectPaths: GRANT.objects },
    iss: "id",
    sub: "abc",
    aud: "abc.r2.cloudflarestorage.com",
    iat: expect.any(Number),
    exp: parsed[1].iat + 60,
  });
  await grants.close();
});

describe("another store", () => {
  let owner: S3Options;
  let grants: BucketGrants;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ s3: owner, stop } = await startLocalR2());
    grants = await bucketGrants(owner);
  });
  afterAll(async () => {
    await grants.close();
    await stop();
  });
  const storeWith = (change: Partial<S3Options> = {}, grant = GRANT) =>
    s3Store({ ...grants.options(grant), attempts: 1, ...change });

  describe("keeps its promises through the granted prefix", () => {
    objectStoreSuite(async () => storeWith({}, { ...GRANT, prefixes: ["suite/"] }));
  });

  test("allows a granted key, also one that does not exist yet", async () => {
    const key = GRANT.objects[0]!;
    expect(await storeWith().get(key)).toBeUndefined();
    await storeWith().swap(key, bytes, null);
    expect(await s3Store(owner).head(key)).toBe(1);
  });

  test.each([
    "models/other/shop/live.json",
    "models/acme/shop-2/live.json",
    "models/acme/shop",
    "customers/acme/erased-users-2",
    "keys/0123",
  ])("refuses every use of %s", async (key) => {
    await s3Store(owner).putIfAbsent(key, bytes, "text/plain");
    const store = storeWith();
    const uses: ((store: ObjectStore) => Promise<unknown>)[] = [
      (store) => store.get(key),
      (store) => store.head(key),
      (store) => store.delete(key),
      (store) => store.swap(key, bytes, null),
      (store) => store.putIfAbsent(key, bytes, "text/plain"),
      (store) => Array.fromAsync(store.list(key)),
    ];
    for (const use of uses) await expect(use(store)).rejects.toThrow(/403/);
    expect(await s3Store(owner).head(key)).toBe(1);
  });

  test.each([
    ["another path to a key", "GET", "/models/acme/shop/../../other/shop/live.json", {}],
    ["an encoded path", "GET", "/models/acme/shop/%2e%2e/%2e%2e/other/shop/live.json", {}],
    ["two prefixes of a list", "GET", "?list-type=2&prefix=models/acme/shop/&prefix=keys/", {}],
    ["a copy", "PUT", "/models/acme/shop/copy", { "x-amz-copy-source": "/shortlist-models/keys/0123" }],
    ["a deletion of many", "POST", "?delete&prefix=models/acme/shop/", {}],
    ["the list of buckets", "GET", "/../", {}],
  ])("does not give more by %s", async (_, method, path, headers) => {
    const { endpoint, bucket, ...keys } = grants.options(GRANT);
    const client = new AwsClient({ ...(keys as { accessKeyId: string; secretAccessKey: string }), service: "s3" });
    const answer = await client.fetch(`${endpoint}/${bucket}${path}`, { method, headers });
    expect(await answer.text()).not.toMatch(/keys\/0123|models\/other|ListAllMyBuckets/);
    expect(
      await s3Store(owner)
        .head("models/acme/shop/copy")
        .then((size) => size ?? 0),
    ).toBe(0);
  });

  test("refuses expired, forged and absent tokens, and those of another bucket", async () => {
    const other = await bucketGrants({ ...owner, secretAccessKey: "guessed" });
    const elsewhere = await bucketGrants({ ...owner, bucket: "other-bucket" });
    const tokens = [
      grants.options({ ...GRANT, seconds: -1 }).sessionToken,
      other.options(GRANT).sessionToken,
      elsewhere.options(GRANT).sessionToken,
      "",
      "nonsense",
    ];
    for (const sessionToken of tokens)
      await expect(storeWith({ sessionToken }).get(`${GRANT.prefixes[0]}live.json`)).rejects.toThrow(/403/);
    await Promise.all([other.close(), elsewhere.close()]);
  });
});
