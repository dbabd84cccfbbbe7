import { searchOf } from "../shared/api.ts";
import { clipped } from "../shared/clipped.ts";
import { pointerStep } from "../shared/parse-request.ts";
import { Problem } from "../shared/problem.ts";
import { DeadlineError, within } from "./reading/waiting.ts";

/** Other characters would arrive at the trainer in another encoding than they were signed in. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{0,255}$/;
const BODY_SECONDS_MAX = 10;
export const BODY_MS_MAX = BODY_SECONDS_MAX * 1000;

/** The bytes of the body, counted while they arrive. Without a body: no bytes. Throws Problem body_too_large, invalid_json. */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge(bytesMax);
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  try {
    return await within(BODY_MS_MAX, "the body", collect(reader, bytesMax));
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    if (error instanceof Problem) throw error;
    const isLate = error instanceof DeadlineError;
    const detail = isLate ? `The body did not end within ${BODY_SECONDS_MAX} seconds.` : "The body broke off.";
    throw new Problem("invalid_json", detail, { cause: error });
  }
}

/** The text of a JSON body. Throws Problem unsupported_media_type, invalid_json. */
export function jsonTextOf(body: Uint8Array, contentType: string | null): string {
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? "")) {
    const found = contentType === null ? "none" : JSON.stringify(contentType.slice(0, 100));
    throw new Problem("unsupported_media_type", `The Content-Type must be application/json, found ${found}.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body);
  } catch (cause) {
    throw new Problem("invalid_json", "The body is not UTF-8.", { cause });
  }
}

/** The Idempotency-Key of a request, or "". Throws Problem invalid_parameter. */
export function idempotencyKeyOf({ headers }: Request): string {
  const key = headers.get("idempotency-key") ?? "";
  if (IDEMPOTENCY_KEY.test(key)) return key;
  const detail = "The Idempotency-Key must be at most 255 printable ASCII characters without spaces.";
  throw new Problem("invalid_parameter", detail);
}

/** For calls without query parameters. Throws Problem unknown_field. */
export function refuseQuery(url: string): void {
  const [first] = new URLSearchParams(searchOf(url)).keys();
  if (first === undefined) return;
  const message = "is not a query parameter of this call";
  const pointer = pointerStep(clipped(first, 80));
  throw new Problem("unknown_field", `${pointer} ${message}`, {
    errors: [{ pointer, code: "unknown_field", message }],
  });
}

async function collect(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>, bytesMax: number) {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > bytesMax) throw tooLarge(bytesMax);
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const tooLarge = (bytesMax: number) =>
  new Problem("body_too_large", `The body has more than ${bytesMax} bytes (${bytesMax / 1024} KiB).`);
