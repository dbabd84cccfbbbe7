/** Calls of Cloudflare's REST API. Each answer is parsed by a schema. Failures are one sentence with the permission to check. */
import * as z from "zod";
import { LocalError } from "../local/local-error.ts";

const TIMEOUT_MS = 30_000;

const Envelope = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).default([]),
  result: z.unknown(),
});

export type Call = {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** From the API's base on, such as `/accounts`. */
  readonly path: string;
  readonly body?: unknown;
  /** What the call does, as it continues "Could not". */
  readonly purpose: string;
  /** The permission that a token needs for it. */
  readonly permission: string;
};

/** An answer that refuses a call. */
export class CloudflareError extends LocalError {
  readonly status: number;
  readonly codes: readonly number[];

  constructor(message: string, { status, codes }: { status: number; codes: readonly number[] }) {
    super(message);
    this.status = status;
    this.codes = codes;
  }
}

export type Cloudflare = ReturnType<typeof cloudflareApi>;

export function cloudflareApi({ baseUrl, token }: { readonly baseUrl: string; readonly token: string }) {
  async function call<Schema extends z.ZodType>(wanted: Call, schema: Schema): Promise<z.infer<Schema>> {
    const { method = "GET", path, body, purpose, permission } = wanted;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const request = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const answer = await fetch(
      `${baseUrl}${path}`,
      body === undefined ? request : { ...request, body: JSON.stringify(body) },
    ).catch((cause: Error) => {
      throw new LocalError(`Could not ${purpose}: Cloudflare's API did not answer (${reasonOf(cause)}).`, { cause });
    });
    const parsed = Envelope.safeParse(await answer.json().catch(() => undefined));
    if (!parsed.success)
      throw new LocalError(`Could not ${purpose}: status ${answer.status} without the JSON of Cloudflare's API.`);
    const { success, errors, result } = parsed.data;
    if (!success || !answer.ok) {
      const found = errors.map(({ code, message }) => `${message} (${code})`).join("; ") || `status ${answer.status}`;
      const remedy = [401, 403].includes(answer.status) ? `: the token needs the permission "${permission}"` : "";
      const codes = errors.map(({ code }) => code);
      throw new CloudflareError(`Could not ${purpose}: ${found}${remedy}.`, { status: answer.status, codes });
    }
    const value = schema.safeParse(result);
    if (value.success) return value.data;
    const { path: field, message } = value.error.issues[0]!;
    throw new LocalError(`Could not ${purpose}: the answer has another form (result.${field.join(".")} ${message}).`);
  }

  return {
    call,
    /** Undefined when the API answers 404. */
    async find<Schema extends z.ZodType>(wanted: Call, schema: Schema): Promise<z.infer<Schema> | undefined> {
      try {
        return await call(wanted, schema);
      } catch (error) {
        if (error instanceof CloudflareError && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}

const reasonOf = (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message);
