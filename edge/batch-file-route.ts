import type { Context } from "hono";
import { signBatchFile } from "../shared/batch.ts";
import { isSameSignature } from "../shared/forward-signature.ts";
import { Problem } from "../shared/problem.ts";
import type { EdgeEnv } from "./isolate.ts";

const PREFIX = "/v0/files/";
const KEY = /^models\/[a-z0-9-]{1,63}\/[A-Za-z0-9_.-]{1,63}\/batches\/[0-9a-f-]{36}\/[0-9]{4}\.(parquet|csv|ndjson)$/;

/** `GET /v0/files/…`: a file of a batch, for whoever has its link. The link is signed by the trainer and ends after a day. */
export async function batchFile(c: Context<EdgeEnv>): Promise<Response> {
  const key = c.req.path.slice(PREFIX.length);
  const [until, signature] = [Number(c.req.query("until")), c.req.query("signature") ?? ""];
  const { FORWARD_SECRET } = c.get("isolate").settings;
  const isSigned =
    KEY.test(key) &&
    Number.isSafeInteger(until) &&
    FORWARD_SECRET !== "" &&
    isSameSignature(signature, await signBatchFile(key, until, FORWARD_SECRET));
  const isOpen = isSigned && until * 1000 > c.get("access").nowMs();
  const object = isOpen ? await c.env.MODELS.get(key) : null;
  if (object === null || !("body" in object))
    throw new Problem("not_found", "There is no such file, or its link has ended. A new batch makes new files.");
  const name = key.split("/").slice(-2).join("-");
  return c.body(object.body as ReadableStream, 200, {
    "content-type": "application/octet-stream",
    "content-length": String(object.size),
    "content-disposition": `attachment; filename="${name}"`,
  });
}
