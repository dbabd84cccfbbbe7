import { AwsClient } from "aws4fetch";
import { type ObjectBody, StoreError } from "./object-store.ts";

export type S3Options = {
  /** Such as `https://{account}.r2.cloudflarestorage.com`; may have a path. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region?: string;
  /** Files of more bytes go up in parts of this size; R2 wants at least 5 MiB. */
  readonly partBytes?: number;
  /** For one attempt, besides one second per MB that it asks for, or that it and the calls beside it send. */
  readonly deadlineMs?: number;
  readonly attempts?: number;
  /** Wait before the second attempt; it doubles from one to the next. */
  readonly backoffMs?: number;
  /** Stops every request. */
  readonly signal?: AbortSignal;
};

export type S3Call = {
  readonly method: "GET" | "PUT" | "HEAD" | "POST" | "DELETE";
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ObjectBody;
  /** Bytes that the answer may have, for the deadline. */
  readonly expectedBytes?: number;
};

export type S3Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** Earlier attempts whose answer was lost: the store may have done what they asked. */
  readonly lostAnswers: number;
};

/** Sends one S3 call. What may pass by itself is tried again and then thrown; every other answer comes back, whatever it says. */
export type S3Request = (call: S3Call) => Promise<S3Answer>;

const BYTES_PER_SECOND_MIN = 1_000_000;
const BACKOFF_MS_MAX = 5_000;

/** Signed requests with a deadline each, retried on connection failures and on answers that ask for it. */
export function s3Request(options: S3Options): S3Request {
  const { attempts = 6, backoffMs = 200, deadlineMs = 30_000 } = options;
  const client = new AwsClient({
    accessKeyId: options.accessKeyId,
    secretAccessKey: options.secretAccessKey,
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
      // Half fixed, half by chance, so that clients that failed together do not come back together.
      await pause(Math.min(BACKOFF_MS_MAX, backoffMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2), options.signal);
    }
  };
  let sending = 0; // bytes of all calls, since they share one line
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
    if (!mayPass(call, response.status, bytes)) return { status: response.status, headers: response.headers, bytes };
    return new StoreError(`${what} was answered ${response.status} ${errorCodeOf(bytes)}`.trimEnd(), {
      retryable: true,
    });
  } catch (cause) {
    const reason = timeout.aborted ? `no answer within ${Math.round(deadlineMs / 1000)} s` : describe(cause);
    return new StoreError(`${what} failed: ${reason}`, { cause, retryable: true });
  }
}

/**
 * 409: another request on the same key was under way, so whether the condition holds is not told. A completion is answered 200
 * before it is done, and a body that comes too slowly 400; the code then says what happened.
 */
function mayPass({ method }: S3Call, status: number, bytes: Uint8Array): boolean {
  if (status >= 500 || PASSING_STATUS.has(status)) return true;
  return (status === 400 || (status === 200 && method === "POST")) && PASSING_CODE.test(errorCodeOf(bytes));
}

const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 429]);
const PASSING_CODE = /^(InternalError|ServiceUnavailable|SlowDown|RequestTimeout)\b/;

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

/** Undici hides the socket's error in `cause`. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error
    ? `${error.message} (${cause.message || (cause as { code?: string }).code})`
    : error.message;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
