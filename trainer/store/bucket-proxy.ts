/**
 * A proxy on loopback for a bucket that does not know temporary credentials. It checks the session token of a request as R2 does, and
 * forwards what the token allows with the owner's key. Whoever has the token may use it: the request's own signature is not checked.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import * as z from "zod";
import { checkKey, StoreError } from "./object-store.ts";
import { type S3Call, type S3Options, type S3Request, s3Request } from "./s3-request.ts";

/** The part of a session token that is checked here. */
export const Claims = z.object({
  bucket: z.string(),
  exp: z.number(),
  paths: z.object({ prefixPaths: z.array(z.string()), objectPaths: z.array(z.string()) }),
});
export type Claims = z.infer<typeof Claims>;

const METHODS = ["GET", "PUT", "HEAD", "DELETE"] as const;
const SENT_HEADERS = ["content-type", "if-match", "if-none-match", "range"];
const RETURNED_HEADERS = ["content-type", "content-length", "content-range", "etag", "last-modified"];
/** Parameters of the only call on the bucket itself: a list. */
const LIST_PARAMETERS = ["list-type", "prefix", "max-keys", "start-after"];

export type BucketProxy = { readonly endpoint: string; close(): Promise<void> };

/** @param claimsOf The claims of a valid session token. */
export async function openBucketProxy(
  owner: S3Options,
  claimsOf: (sessionToken: string) => Claims | undefined,
): Promise<BucketProxy> {
  const send = s3Request({ ...owner, attempts: 1 });
  const fetch = async (request: Request) => {
    const claims = claimsOf(request.headers.get("x-amz-security-token") ?? "");
    const call = claims && allowedCall(request, claims);
    return call ? await forwarded(request, call, send) : refusal(403, "AccessDenied");
  };
  const server = serve({ fetch, hostname: "127.0.0.1", port: 0 }) as Server;
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The call without its body; undefined when the claims do not allow it. Only the methods, parameters and headers above are forwarded. */
function allowedCall({ url, method: given }: Request, { bucket, paths }: Claims): S3Call | undefined {
  const { pathname, searchParams } = new URL(url);
  const method = METHODS.find((known) => known === given);
  const hasPrefix = (text: string) => paths.prefixPaths.some((prefix) => text.startsWith(prefix));
  if (method === undefined) return undefined;
  if (pathname === `/${bucket}`) {
    const names = LIST_PARAMETERS.filter((name) => searchParams.has(name));
    const query = Object.fromEntries(names.map((name) => [name, searchParams.get(name)!]));
    return method === "GET" && hasPrefix(query.prefix ?? "") ? { method, key: "", query } : undefined;
  }
  const key = pathname.slice(bucket.length + 2);
  if (pathname !== `/${bucket}/${key}` || !isKey(key)) return undefined;
  return hasPrefix(key) || paths.objectPaths.includes(key) ? { method, key } : undefined;
}

async function forwarded(request: Request, call: S3Call, send: S3Request): Promise<Response> {
  const body = call.method === "PUT" ? { body: new Uint8Array(await request.arrayBuffer()) } : {};
  try {
    const answer = await send({ ...call, headers: headersIn(request.headers, SENT_HEADERS), ...body });
    const content = call.method === "HEAD" || answer.status === 204 ? null : (answer.bytes as Uint8Array<ArrayBuffer>);
    return new Response(content, { status: answer.status, headers: headersIn(answer.headers, RETURNED_HEADERS) });
  } catch (error) {
    if (error instanceof StoreError) return refusal(502, "InternalError");
    throw error;
  }
}

function isKey(key: string): boolean {
  try {
    checkKey(key);
    return true;
  } catch {
    return false;
  }
}

const headersIn = (headers: Headers, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : [])));

const refusal = (status: number, code: string) =>
  new Response(`<Error><Code>${code}</Code></Error>`, { status, headers: { "content-type": "application/xml" } });
