/** Options of the client and of single calls. */
import type { ModelRecord } from "./requests-and-answers.ts";

export type ClientOptions = {
  /** The address of the edge, such as https://rank.example.com. */
  readonly url: string;
  readonly apiKey: string;
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest time of a call with its retries. Default: 10 s for ranking, 40 s for management, 60 s for events. */
  readonly timeoutMs?: number;
  /** Events, and queued changes of items, that are passed within this time are sent together. Default: 0. */
  readonly batchMs?: number;
  /** Used instead of the global fetch: a service binding of a Worker, for example. */
  readonly fetch?: typeof fetch;
};

export type CallOptions = {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Receives every response, for its headers. */
  readonly onResponse?: (response: Response) => void;
};

export type CallRequest = CallOptions & {
  /** Text is sent as it is. */
  readonly body?: unknown;
  /** Used if neither the call nor the client has a timeout. */
  readonly defaultMs?: number;
  readonly attemptsMax?: number;
  /** False for a call that must not be sent again while it is unknown whether it took effect. */
  readonly isRepeatable?: boolean;
  /** Lets a browser finish the request after its page was left. */
  readonly keepalive?: boolean;
};

export type WaitOptions = {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Receives the model's record every two seconds. */
  readonly onRecord?: (record: ModelRecord) => void;
};

export type TrainOptions = CallOptions & { readonly ignore?: "source_shrunken"[] };

/** `cursor`: the `next_cursor` of the answer before. */
export type PageQuery = { readonly limit?: number; readonly cursor?: string };
export type ModelQuery = PageQuery & { readonly status?: ModelRecord["status"]; readonly name_contains?: string };
export type SearchQuery = {
  readonly search?: string;
  readonly retrieval?: object;
  readonly limit?: number;
  readonly offset?: number;
};
