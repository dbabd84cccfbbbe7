import { LocalError } from "./local-error.ts";

export type ServiceAnswer = { readonly status: number; readonly body: unknown; readonly headers: Headers };

/** Calls the service as any customer does: over HTTP, through the edge, with the key. */
export type ServiceClient = {
  readonly edgeUrl: string;
  readonly apiKey: string;
  /** Throws LocalError when there is no answer in time; an answer comes back whatever its status. */
  call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<ServiceAnswer>;
};

const DEADLINE_MS = 60_000;

export function serviceClient(edgeUrl: string, apiKey: string, signal: AbortSignal): ServiceClient {
  return {
    edgeUrl,
    apiKey,
    async call(method, path, body) {
      const headers = { "x-api-key": apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      const timeout = AbortSignal.timeout(DEADLINE_MS);
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
        const reason = timeout.aborted ? `within ${DEADLINE_MS / 1000} s` : `(${(cause as Error).message})`;
        throw new LocalError(`${method} ${path} got no answer ${reason}.`, { cause });
      }
    },
  };
}

/** The body of an answer with an expected status; anything else becomes the problem's own sentence. */
export function expectStatus(answer: ServiceAnswer, ...statuses: readonly number[]): unknown {
  if (statuses.includes(answer.status)) return answer.body;
  const { detail, errors } = (answer.body ?? {}) as {
    detail?: string;
    errors?: { pointer: string; message: string }[];
  };
  const parts = (errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`).join("; ");
  const said = detail ?? (typeof answer.body === "string" ? answer.body.slice(0, 200) : "");
  throw new LocalError(
    `The service answered ${answer.status}: ${said}${parts && !said.includes(parts) ? ` (${parts})` : ""}`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
