/**
 * Temporary credentials for a part of the bucket. The owner of a key signs them as a JWT, and its digest is their secret:
 * https://developers.cloudflare.com/r2/api/s3/temporary-credentials/. R2 checks them itself. Other S3 stores, such as the one of
 * `wrangler dev`, do not know them and are reached through bucket-proxy.ts, which makes the same checks.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { Claims, openBucketProxy } from "./bucket-proxy.ts";
import { storedJson } from "./object-store.ts";
import type { S3Options } from "./s3-request.ts";

export type Grant = {
  /** Beginnings of the keys that may be read, written and listed. */
  readonly prefixes: readonly string[];
  /** Single keys that may be read and written. */
  readonly objects: readonly string[];
  readonly seconds: number;
};

export type BucketGrants = { options(grant: Grant): S3Options; close(): Promise<void> };

export async function bucketGrants(owner: S3Options): Promise<BucketGrants> {
  const isR2 = new URL(owner.endpoint).hostname.endsWith(".r2.cloudflarestorage.com");
  const proxy = isR2 ? undefined : await openBucketProxy(owner, (token) => claimsOf(token, owner));
  return {
    options: (grant) => ({ ...signGrant(owner, grant), ...(proxy && { endpoint: proxy.endpoint }) }),
    close: async () => proxy?.close(),
  };
}

function signGrant(owner: S3Options, { prefixes, objects, seconds }: Grant): S3Options {
  const { hostname, host } = new URL(owner.endpoint);
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    bucket: owner.bucket,
    scope: "object-read-write",
    paths: { prefixPaths: prefixes, objectPaths: objects },
    iss: owner.accessKeyId,
    sub: hostname.split(".")[0], // the account
    aud: host,
    iat: now,
    exp: now + seconds,
  };
  const unsigned = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(claims)}`;
  const jwt = `${unsigned}.${signatureOf(unsigned, owner).toString("base64url")}`;
  return {
    ...owner,
    secretAccessKey: createHash("sha256").update(jwt).digest("hex"),
    sessionToken: Buffer.from(`jwt/${jwt}`).toString("base64"),
  };
}

/** The claims of a session token that the owner has signed and that has not expired. */
function claimsOf(sessionToken: string, owner: S3Options): Claims | undefined {
  const [, unsigned, payload, signature] =
    /^jwt\/([^.]+\.([^.]+))\.([^.]+)$/.exec(Buffer.from(sessionToken, "base64").toString()) ?? [];
  const given = Buffer.from(signature ?? "", "base64url");
  const expected = signatureOf(unsigned ?? "", owner);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const { data } = Claims.safeParse(storedJson(Buffer.from(payload!, "base64url")));
  return data?.bucket === owner.bucket && data.exp > Date.now() / 1000 ? data : undefined;
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

const signatureOf = (unsigned: string, { secretAccessKey }: S3Options) =>
  createHmac("sha256", secretAccessKey).update(unsigned).digest();
