import { LocalError } from "./local-error.ts";

/** The service as a customer calls it: over HTTP, through the edge, with an API key. */
export type Service = { readonly edgeUrl: string; readonly apiKey: string; readonly signal: AbortSignal };
export type ServiceAnswer = { readonly status: number; readonly body: unknown; readonly headers: Headers };

const TIMEOUT_MS = 60_000;

/** Returns the answer whatever its status. Throws LocalError if none arrives in time or it is no JSON. */
export async function callService(
  service: Service,
  method: string,
  path: string,
  body?: object,
): Promise<ServiceAnswer> {
  const { edgeUrl, apiKey, signal } = service;
  try {
    const response = await fetch(edgeUrl + path, {
      method,
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  } catch (cause) {
    signal.throwIfAborted();
    throw new LocalError(`${method} ${path} failed: ${(cause as Error).message}.`, { cause });
  }
}

/** Returns the body of an answer with the expected status; throws LocalError with the problem's detail for any other. */
export function expectStatus({ status, body }: ServiceAnswer, expected: number): unknown {
  if (status === expected) return body;
  throw new LocalError(
    `The service answered ${status}: ${(body as { detail?: string }).detail ?? JSON.stringify(body)}`,
  );
}
