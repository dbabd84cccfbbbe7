/**
 * A bucket on this machine's disk, over the part of the S3 API that Shortlist uses, so that trainer and edge need no second way to reach
 * a store. It listens on loopback. The access key id is the password, since aws4fetch sends it with each call; signatures are not checked.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { directoryStore } from "./directory-store.ts";
import { type ByteRange, checkKey, type ListedObject, type ObjectStore, StoreError } from "./object-store.ts";

export type ObjectServer = { readonly endpoint: string; readonly port: number; close(): Promise<void> };

type Options = {
  readonly folder: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  /** 0: any free port. */
  readonly port?: number;
};

const LISTED_MAX = 1000;

export async function openObjectServer({ folder, bucket, accessKeyId, port = 0 }: Options): Promise<ObjectServer> {
  const store = directoryStore(folder);
  const fetch = async (request: Request): Promise<Response> => {
    if (!(request.headers.get("authorization") ?? "").includes(`Credential=${accessKeyId}/`))
      return refusal(403, "InvalidAccessKeyId");
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === `/${bucket}` && request.method === "GET") return await listed(store, searchParams);
    if (!pathname.startsWith(`/${bucket}/`)) return refusal(404, "NoSuchBucket");
    return await answer(store, request, pathname.slice(bucket.length + 2));
  };
  const server = serve({ fetch: (request) => fetch(request).catch(failure), hostname: "127.0.0.1", port }) as Server;
  await once(server, "listening");
  const found = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${found.port}`,
    port: found.port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(store: ObjectStore, request: Request, key: string): Promise<Response> {
  checkKey(key);
  switch (request.method) {
    case "HEAD": {
      const size = await store.head(key);
      return new Response(null, size === undefined ? { status: 404 } : { headers: { "content-length": String(size) } });
    }
    case "GET":
      return await found(store, request.headers, key);
    case "PUT":
      return await put(store, request, key);
    case "DELETE":
      await store.delete(key);
      return new Response(null, { status: 204 });
    default:
      return refusal(405, "MethodNotAllowed");
  }
}

async function found(store: ObjectStore, headers: Headers, key: string): Promise<Response> {
  const size = await store.head(key);
  if (size === undefined) return refusal(404, "NoSuchKey");
  const range = rangeOf(headers.get("range"), size);
  if (range === "unsatisfiable") return refusal(416, "InvalidRange");
  const object = await store.get(key, range);
  if (object === undefined) return refusal(404, "NoSuchKey");
  const etag = `"${object.etag}"`;
  if (headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers: { etag } });
  const part = range && { "content-range": `bytes ${range.offset}-${range.offset + object.bytes.length - 1}/${size}` };
  return new Response(object.bytes as Uint8Array<ArrayBuffer>, {
    status: range ? 206 : 200,
    headers: { etag, "content-length": String(object.bytes.length), ...part },
  });
}

function rangeOf(header: string | null, size: number): ByteRange | undefined | "unsatisfiable" {
  const match = /^bytes=(\d+)-(\d+)$/.exec(header ?? "");
  if (!match) return undefined;
  const [first, last] = [Number(match[1]), Math.min(Number(match[2]), size - 1)];
  return first >= size || last < first ? "unsatisfiable" : { offset: first, length: last - first + 1 };
}

async function put(store: ObjectStore, request: Request, key: string): Promise<Response> {
  const body = new Uint8Array(await request.arrayBuffer());
  const ifMatch = request.headers.get("if-match")?.replaceAll('"', "");
  const mustBeAbsent = request.headers.get("if-none-match") === "*";
  for (;;) {
    const before = ifMatch ?? (mustBeAbsent ? null : ((await store.get(key))?.etag ?? null));
    const etag = await store.swap(key, body, before);
    if (etag !== undefined) return new Response(null, { headers: { etag: `"${etag}"` } });
    if (ifMatch !== undefined || mustBeAbsent) return refusal(412, "PreconditionFailed");
  }
}

async function listed(store: ObjectStore, query: URLSearchParams): Promise<Response> {
  const after = query.get("start-after") ?? "";
  const max = Math.min(LISTED_MAX, Number(query.get("max-keys") ?? LISTED_MAX));
  const page: ListedObject[] = [];
  let isTruncated = false;
  for await (const object of store.list(query.get("prefix") ?? "")) {
    if (object.key <= after) continue;
    isTruncated = page.length === max;
    if (isTruncated) break;
    page.push(object);
  }
  // Keys have no character that XML escapes (checkKey).
  const entries = page.map(
    ({ key, size, modifiedMs }) =>
      `<Contents><Key>${key}</Key><Size>${size}</Size><LastModified>${new Date(modifiedMs).toISOString()}</LastModified></Contents>`,
  );
  const xml = `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${entries.join("")}</ListBucketResult>`;
  return new Response(xml, { headers: { "content-type": "application/xml" } });
}

const failure = (error: unknown): Response =>
  error instanceof StoreError ? refusal(400, "InvalidKey") : refusal(500, "InternalError");

const refusal = (status: number, code: string) =>
  new Response(`<Error><Code>${code}</Code></Error>`, { status, headers: { "content-type": "application/xml" } });
