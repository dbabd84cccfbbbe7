/** The query and the body of a request, within their limits. */
import { MANAGEMENT_BODY_BYTES_MAX, queryOf, searchOf, uniqueParameters } from "../../../shared/api.ts";
import { clipped } from "../../../shared/clipped.ts";
import { ERRORS_MAX, parseJson, pointerStep, problemOf } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";

/** Query parameters by name. Throws Problem invalid_parameter for those that were sent twice or are not UTF-8. */
export const queryParameters = (url: string): Record<string, string> => uniqueParameters(queryOf(url));

const SHOWN_NAME_MAX = 80;

/** Throws Problem unknown_field for any query parameter, for calls that take none. */
export function requireNoQuery(url: string): void {
  const names = [...new URLSearchParams(searchOf(url)).keys()].slice(0, ERRORS_MAX);
  if (names.length === 0) return;
  const message = "is not a query parameter of this call: it takes none";
  const pointers = names.map((name) => pointerStep(clipped(name, SHOWN_NAME_MAX)));
  throw problemOf(pointers.map((pointer) => ({ pointer, code: "unknown_field", message })));
}

/** Far more than any schema needs. Recursive functions on a body stay within the stack. */
const DEPTH_MAX = 32;

/** The body's bytes, at most 256 KiB; empty without a body. Throws Problem body_too_large. */
export async function readBody(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > MANAGEMENT_BODY_BYTES_MAX) throw tooLarge();
  if (request.body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > MANAGEMENT_BODY_BYTES_MAX) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const tooLarge = () =>
  new Problem("body_too_large", `The body has more than ${MANAGEMENT_BODY_BYTES_MAX} bytes (256 KiB).`);

/** The body as JSON. Throws Problem unsupported_media_type, invalid_json. */
export function jsonOf(body: Uint8Array, contentType: string | undefined): unknown {
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? "")) {
    const found = contentType === undefined ? "none" : JSON.stringify(contentType.slice(0, 100));
    throw new Problem("unsupported_media_type", `The Content-Type must be application/json, found ${found}.`);
  }
  const json = parseJson(textOf(body));
  if (isDeeperThan(DEPTH_MAX, json))
    throw new Problem("invalid_json", `the body is nested deeper than ${DEPTH_MAX} levels`);
  return json;
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body);
  } catch (cause) {
    throw new Problem("invalid_json", "the body is not UTF-8", { cause });
  }
}

const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member)));
