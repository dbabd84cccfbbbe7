import { LocalError } from "./local-error.ts";

export type ServiceAnswer = { readonly status: number; readonly body: unknown; readonly headers: Headers };

/** Calls the service as a customer does: over HTTP, through the edge, with an API key. */
export type ServiceClient = {
  readonly edgeUrl: string;
  readonly apiKey: string;
  /** Returns the answer whatever its status. Throws LocalError if none arrives in time. */
  call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<ServiceAnswer>;
};

const TIMEOUT_MS = 60_000;

export function serviceClient(edgeUrl: string, apiKey: string, signal: AbortSignal): ServiceClient {
  return {
    edgeUrl,
    apiKey,
    async call(method, path, body) {
      const headers = { "x-api-key": apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      const timeout = AbortSignal.timeout(TIMEOUT_MS);
      try {
        const response = await fetch(new URL(path, edgeUrl).href, {
          method,
          headers,
          signal: AbortSignal.any([signal, timeout]),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        return { status: response.status, headers: response.headers, body: jsonOf(text) };
      } catch (cause) {
        signal.throwIfAborted();
        const reason = timeout.aborted ? `within ${TIMEOUT_MS / 1000} s` : `(${(cause as Error).message})`;
        throw new LocalError(`${method} ${path} got no answer ${reason}.`, { cause });
      }
    },
  };
}

/** Returns the body of an answer with an expected status; throws LocalError with the problem's detail for any other. */
export function expectStatus(answer: ServiceAnswer, ...statuses: readonly number[]): unknown {
  if (statuses.includes(answer.status)) return answer.body;
  const { detail, errors } = (answer.body ?? {}) as {
    detail?: string;
    errors?: { pointer: string; message: string }[];
  };
  const parts = (errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`).join("; ");
  const message = detail ?? (typeof answer.body === "string" ? answer.body.slice(0, 200) : "");
  throw new LocalError(
    `The service answered ${answer.status}: ${message}${parts && !message.includes(parts) ? ` (${parts})` : ""}`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
