/**
 * The methods of an R2 bucket that the Worker uses, over the S3 API of another store. An edge outside Cloudflare has this in place of the
 * binding MODELS.
 */
import { AwsClient } from "aws4fetch";
import * as z from "zod";

export const S3Access = z.object({
  endpoint: z.url(),
  bucket: z.string(),
  accessKeyId: z.string(),
  secretAccessKey: z.string(),
  region: z.string().default("auto"),
});
export type S3Access = z.infer<typeof S3Access>;

type Found = Pick<R2Object, "key" | "etag" | "size">;

export function s3Bucket({ endpoint, bucket, ...access }: S3Access): R2Bucket {
  const client = new AwsClient({ ...access, service: "s3", retries: 0 });
  const call = async (key: string, init: RequestInit, query = "") => {
    const url = `${endpoint.replace(/\/+$/, "")}/${bucket}${key && `/${key}`}${query}`;
    const response = await fetch(await client.sign(url, init));
    if (response.ok || [304, 404, 412].includes(response.status)) return response;
    throw new Error(`the store answered ${response.status} to ${init.method} ${key || "the bucket"}`);
  };

  const methods = {
    async get(key: string, { range, onlyIf }: R2GetOptions = {}) {
      const response = await call(key, { method: "GET", headers: { ...rangeHeader(range), ...conditions(onlyIf) } });
      if (response.status === 404) return null;
      return response.status === 304 ? foundIn(response, key) : objectIn(response, key);
    },
    async put(key: string, body: ArrayBuffer | ArrayBufferView | string, { onlyIf }: R2PutOptions = {}) {
      const response = await call(key, { method: "PUT", body: body as BodyInit, headers: conditions(onlyIf) });
      return response.ok ? foundIn(response, key) : null;
    },
    async delete(key: string) {
      await call(key, { method: "DELETE" });
    },
    async list({ prefix = "", startAfter, limit = 1000 }: R2ListOptions = {}) {
      const query = new URLSearchParams({ "list-type": "2", prefix, "max-keys": String(limit) });
      if (startAfter !== undefined) query.set("start-after", startAfter);
      const xml = await (await call("", { method: "GET" }, `?${query}`)).text();
      const keys = [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => ({ key: key! }));
      return { objects: keys, truncated: /<IsTruncated>true</.test(xml) };
    },
  };
  return methods as unknown as R2Bucket;
}

function rangeHeader(range: R2GetOptions["range"]): Record<string, string> {
  if (range === undefined) return {};
  const { offset, length } = range as { readonly offset: number; readonly length: number };
  return { range: `bytes=${offset}-${offset + length - 1}` };
}

function conditions(onlyIf: R2GetOptions["onlyIf"]): Record<string, string> {
  const { etagMatches, etagDoesNotMatch } = (onlyIf ?? {}) as { etagMatches?: string; etagDoesNotMatch?: string };
  const quoted = (etag: string) => (etag === "*" ? etag : `"${etag}"`);
  return {
    ...(etagMatches !== undefined && { "if-match": quoted(etagMatches) }),
    ...(etagDoesNotMatch !== undefined && { "if-none-match": quoted(etagDoesNotMatch) }),
  };
}

function foundIn({ headers }: Response, key: string): Found {
  const whole = headers.get("content-range")?.split("/")[1] ?? headers.get("content-length");
  return { key, etag: (headers.get("etag") ?? "").replace(/^W\//, "").replaceAll('"', ""), size: Number(whole ?? 0) };
}

function objectIn(response: Response, key: string) {
  const found = foundIn(response, key);
  return {
    ...found,
    checksums: { md5: md5In(response, found.etag) },
    body: response.body,
    arrayBuffer: () => response.arrayBuffer(),
    json: () => response.json(),
    text: () => response.text(),
  };
}

/** An etag is the content's MD5 unless the object was uploaded in parts or is encrypted with a key of the customer. */
function md5In({ status, headers }: Response, etag: string): ArrayBuffer | undefined {
  if (status !== 200 || !/^[0-9a-f]{32}$/.test(etag)) return undefined;
  if ((headers.get("x-amz-server-side-encryption") ?? "AES256") !== "AES256") return undefined;
  return Uint8Array.from(etag.match(/../g)!, (digits) => Number.parseInt(digits, 16)).buffer;
}
