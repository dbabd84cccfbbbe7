/** The calls of a page that shows lists. shortlist.ts adds those that manage models. */
import type { CallOptions, CallRequest, ClientOptions } from "./options.ts";
import type * as api from "./requests-and-answers.ts";
import type { Bare, Detailed, ItemId, RankedItems, RankRequest, SimilarItemsRequest } from "./requests-and-answers.ts";
import { createQueue, type Queue } from "./send-queue.ts";
import { errorOf, ShortlistError } from "./shortlist-error.ts";

const RANK_MS = 10_000;
const MANAGEMENT_MS = 40_000;
const EVENTS_MS = 60_000;
const ATTEMPTS_MAX = 3;
const EVENT_ATTEMPTS_MAX = 8;
const FIRST_WAIT_MS = 250;
const BATCH_EVENTS_MAX = 500;
const BATCH_CHANGES_MAX = 1000;

export class PageClient {
  readonly #options: ClientOptions;
  readonly #queues = new Map<string, Queue>();

  constructor(options: ClientOptions) {
    this.#options = options;
    // A hidden page may never run again.
    const page = (globalThis as { document?: EventTarget & { visibilityState: string } }).document;
    page?.addEventListener("visibilitychange", () => {
      if (page.visibilityState === "hidden") for (const queue of this.#queues.values()) void queue.sendBatch();
    });
  }

  /** The items that a user, a session or both should see, best first. */
  rank(model: string, request: Detailed<RankRequest>, options?: CallOptions): Promise<RankedItems>;
  rank(model: string, request?: Bare<RankRequest>, options?: CallOptions): Promise<ItemId[]>;
  rank(model: string, request: RankRequest, options?: CallOptions): Promise<ItemId[] | RankedItems>;
  rank(model: string, body: RankRequest = {}, options?: CallOptions): Promise<unknown> {
    return this.call("POST", `${pathOf(model)}/rank`, { defaultMs: RANK_MS, ...options, body });
  }

  /** Items that are similar to an item, most similar first. */
  similarItems(model: string, request: Detailed<SimilarItemsRequest>, options?: CallOptions): Promise<RankedItems>;
  similarItems(model: string, request: Bare<SimilarItemsRequest>, options?: CallOptions): Promise<ItemId[]>;
  similarItems(model: string, request: SimilarItemsRequest, options?: CallOptions): Promise<ItemId[] | RankedItems>;
  similarItems(model: string, body: SimilarItemsRequest, options?: CallOptions): Promise<unknown> {
    return this.call("POST", `${pathOf(model)}/similar_items`, { defaultMs: RANK_MS, ...options, body });
  }

  /**
   * Sends events. One request is under way at a time; the next one takes all events that were passed meanwhile. Resolves once they are
   * stored: the user's next rank call then knows them.
   */
  async events(events: api.Event | readonly api.Event[]): Promise<void> {
    // Retries send the same id, so that the event counts once.
    const list = ([events].flat() as api.Event[]).map((event) => ({
      ...event,
      event_id: event.event_id ?? randomId(),
    }));
    await this.#queueOf("POST", "/v0/events", "events", BATCH_EVENTS_MAX).add(list);
  }

  /**
   * Changes items like `events` sends events: one request of a model is under way at a time, and the next one takes what was passed
   * meanwhile. A wrong change fails alone. Resolves once the changes are stored.
   */
  queueItemChanges(model: string, changes: api.ItemChange | readonly api.ItemChange[]): Promise<void> {
    const queue = this.#queueOf("PATCH", `${pathOf(model)}/items`, "items", BATCH_CHANGES_MAX);
    return queue.add([changes].flat() as api.ItemChange[]);
  }

  /** Any call of the API. Throws ShortlistError, and the reason of an aborted signal. */
  async call<Answer>(method: string, path: string, request: CallRequest = {}): Promise<Answer> {
    const { isRepeatable = true, attemptsMax = ATTEMPTS_MAX, signal: callers } = request;
    const timeoutMs = request.timeoutMs ?? this.#options.timeoutMs ?? request.defaultMs ?? MANAGEMENT_MS;
    const deadlineMs = Date.now() + timeoutMs;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = callers ? AbortSignal.any([callers, timeout]) : timeout;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#callOnce<Answer>(method, path, { ...request, signal });
      } catch (error) {
        callers?.throwIfAborted();
        const { status, retryAfterSeconds } = error as ShortlistError;
        const backoffMs = (retryAfterSeconds ?? 0) * 1000 || FIRST_WAIT_MS * 2 ** (attempt - 1);
        const waitMs = backoffMs * (1 + Math.random() / 2); // callers that failed together come back apart
        const isTransient = status === 429 || (isRepeatable && (status === 0 || status > 500));
        if (!isTransient || attempt === attemptsMax || Date.now() + waitMs > deadlineMs) throw error;
        await sleep(waitMs, callers);
      }
    }
  }

  async #callOnce<Answer>(method: string, path: string, request: CallRequest & { signal: AbortSignal }) {
    const { body, headers, signal, keepalive = false, onResponse } = request;
    const { url, apiKey, fetch = globalThis.fetch, headers: always } = this.#options;
    let response: Response;
    let answer: unknown;
    try {
      response = await fetch(`${url.replace(/\/$/, "")}${path}`, {
        method,
        headers: { ...(body !== undefined && JSON_TYPE), "x-api-key": apiKey, ...always, ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
        ...(keepalive && { keepalive }),
        signal,
      });
      answer = jsonIn(await response.text());
    } catch (cause) {
      const code = signal.aborted ? "timeout" : "network";
      throw new ShortlistError(code, `${method} ${path} had no answer: ${cause}`, 0, { cause });
    }
    onResponse?.(response);
    if (response.ok && answer !== undefined) return answer as Answer;
    throw errorOf(response, answer);
  }

  #queueOf(method: string, path: string, name: string, countMax: number): Queue {
    const known = this.#queues.get(path);
    if (known) return known;
    const request = { keepalive: "document" in globalThis, defaultMs: EVENTS_MS, attemptsMax: EVENT_ATTEMPTS_MAX };
    const send = (list: string) => this.call(method, path, { ...request, body: `{"${name}":[${list}]}` });
    const queue = createQueue(send, { countMax, batchMs: this.#options.batchMs ?? 0 });
    this.#queues.set(path, queue);
    return queue;
  }
}

const JSON_TYPE = { "content-type": "application/json" };
export const pathOf = (model: string) => `/v0/models/${encodeURIComponent(model)}`;
/** crypto.randomUUID exists only on pages that came over https. */
export const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Ends early when the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
