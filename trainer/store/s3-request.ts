import { setTimeout } from "node:timers/promises";
import { AwsClient } from "aws4fetch";
import type { StoreAccess } from "../settings.ts";
import { type ObjectBody, StoreError } from "./object-store.ts";

export type S3Options = StoreAccess & {
  /** Timeout of one attempt. One second is added per MB that it expects, or that it and concurrent calls send. */
  readonly deadlineMs?: number;
  readonly attempts?: number;
  /** Wait before the second attempt; it doubles from one to the next. */
  readonly backoffMs?: number;
  /** Stops every request. */
  readonly signal?: AbortSignal;
};

export type S3Call = {
  readonly method: "GET" | "PUT" | "HEAD" | "DELETE";
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ObjectBody;
  /** Largest size of the answer, for the timeout. */
  readonly expectedBytes?: number;
};

export type S3Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** Earlier attempts without an answer. The store may have executed them. */
  readonly lostAnswers: number;
};

/** Sends one S3 call. Passing failures are retried and then thrown; every other answer is returned, also an error. */
export type S3Request = (call: S3Call) => Promise<S3Answer>;

const BYTES_PER_SECOND_MIN = 1_000_000;
const BACKOFF_MS_MAX = 5_000;

/** Sends signed requests with a timeout each. Retries after connection failures and passing errors of the store. */
export function s3Request(options: S3Options): S3Request {
  const { attempts = 6, backoffMs = 200, deadlineMs = 30_000 } = options;
  const client = new AwsClient({
    accessKeyId: options.accessKeyId,
    secretAccessKey: options.secretAccessKey,
    ...(options.sessionToken && { sessionToken: options.sessionToken }),
    region: options.region ?? "auto",
    service: "s3",
    retries: 0,
  });

  const perform = async (call: S3Call, deadlineOf: () => number): Promise<S3Answer> => {
    let lostAnswers = 0;
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(client, options, call, deadlineOf());
      if (!(outcome instanceof StoreError)) return { ...outcome, lostAnswers };
      options.signal?.throwIfAborted();
      if (attempt >= attempts) throw outcome;
      lostAnswers++;
      // Half of the backoff is random, so that clients which failed together do not retry together.
      const waitMs = Math.min(BACKOFF_MS_MAX, backoffMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
      await setTimeout(waitMs, undefined, { signal: options.signal }).catch(() => options.signal?.throwIfAborted());
    }
  };
  let sending = 0; // bytes of all running calls, because they share one connection to the internet
  return async (call) => {
    const size = sizeOf(call.body);
    sending += size;
    try {
      const deadlineOf = () => deadlineMs + ((sending + (call.expectedBytes ?? 0)) / BYTES_PER_SECOND_MIN) * 1000;
      return await perform(call, deadlineOf);
    } finally {
      sending -= size;
    }
  };
}

async function attemptOnce(
  client: AwsClient,
  options: S3Options,
  call: S3Call,
  deadlineMs: number,
): Promise<Omit<S3Answer, "lostAnswers"> | StoreError> {
  const what = `${call.method} ${call.key || "the bucket"} (${options.bucket} at ${options.endpoint})`;
  const timeout = AbortSignal.timeout(Math.ceil(deadlineMs));
  try {
    const request = await client.sign(urlOf(options, call), {
      method: call.method,
      headers: { ...call.headers },
      ...(call.body === undefined ? {} : { body: call.body as Uint8Array<ArrayBuffer> | Blob }),
    });
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    const response = await fetch(request, { signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (!isPassing(response.status, bytes)) return { status: response.status, headers: response.headers, bytes };
    return new StoreError(`${what} was answered ${response.status} ${errorCodeOf(bytes)}`.trimEnd(), {
      retryable: true,
    });
  } catch (cause) {
    const reason = timeout.aborted ? `no answer within ${Math.round(deadlineMs / 1000)} s` : describe(cause);
    return new StoreError(`${what} failed: ${reason}`, { cause, retryable: true });
  }
}

/**
 * True for failures that may pass. 409: another request for the same key was running, so the condition was not checked. A body that
 * arrived too slowly is answered 400; its error code distinguishes it from wrong requests.
 */
const isPassing = (status: number, bytes: Uint8Array): boolean =>
  status >= 500 || [408, 409, 429].includes(status) || (status === 400 && /^RequestTimeout\b/.test(errorCodeOf(bytes)));

/** The code and message of an S3 error document. */
export function errorCodeOf(bytes: Uint8Array): string {
  const xml = new TextDecoder().decode(bytes.subarray(0, 4096));
  const [code, message] = ["Code", "Message"].map((tag) => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]);
  return code === undefined ? "" : message === undefined ? code : `${code}: ${message}`;
}

function urlOf({ endpoint, bucket }: S3Options, { key, query }: S3Call): string {
  const search = query ? `?${new URLSearchParams(query)}` : "";
  return `${endpoint.replace(/\/+$/, "")}/${bucket}${key && `/${key}`}${search}`;
}

const sizeOf = (body: ObjectBody | undefined) =>
  body === undefined ? 0 : body instanceof Blob ? body.size : body.length;

/** The error's text. Undici puts the socket's error into `cause`. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error
    ? `${error.message} (${cause.message || (cause as { code?: string }).code})`
    : error.message;
}
