/** The client of the ranking service, for browsers, Workers, Node, Deno and Bun. It becomes one file. */
import type {
  CallOptions,
  CallRequest,
  ClientOptions,
  ModelQuery,
  PageQuery,
  SearchQuery,
  TrainOptions,
  WaitOptions,
} from "./options.ts";
import type * as api from "./requests-and-answers.ts";
import type { Bare, Detailed, ItemId, RankedItems, RankRequest, SimilarItemsRequest } from "./requests-and-answers.ts";

import { createQueue, type Queue } from "./send-queue.ts";
import { errorOf, ShortlistError } from "./shortlist-error.ts";

export type * from "./options.ts";
export type * from "./requests-and-answers.ts";
export { ShortlistError };

const RANK_MS = 10_000;
const MANAGEMENT_MS = 40_000;
const EVENTS_MS = 60_000;
const TRAINING_MS = 6 * 3_600_000;
const ATTEMPTS_MAX = 3;
const EVENT_ATTEMPTS_MAX = 8;
const FIRST_WAIT_MS = 250;
const POLL_MS = 2000;
const BATCH_EVENTS_MAX = 500;
const BATCH_CHANGES_MAX = 1000;

/** The calls of one edge with one key. In a Worker, make one for each request. */
export class Shortlist {
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

  /** Changes attributes of items or hides items, at most 1000: all of them or, if one is wrong, none. */
  changeItems(model: string, items: readonly api.ItemChange[], options?: CallOptions): Promise<api.ChangeCounts> {
    return this.call("PATCH", `${pathOf(model)}/items`, { ...options, body: { items } });
  }

  /**
   * Changes items like `events` sends events: one request of a model is under way at a time, and the next one takes what was passed
   * meanwhile. A wrong change fails alone. Resolves once the changes are stored.
   */
  queueItemChanges(model: string, changes: api.ItemChange | readonly api.ItemChange[]): Promise<void> {
    const queue = this.#queueOf("PATCH", `${pathOf(model)}/items`, "items", BATCH_CHANGES_MAX);
    return queue.add([changes].flat() as api.ItemChange[]);
  }

  /** Items whose id and texts have all words of `search`, and which pass `retrieval`; popular ones first. */
  findItems(model: string, { retrieval, ...query }: SearchQuery = {}, options?: CallOptions): Promise<api.FoundItems> {
    const search = searchOf({ ...query, retrieval: retrieval && JSON.stringify(retrieval) });
    return this.call("GET", `${pathOf(model)}/items?${search}`, options);
  }

  /** Changed and hidden items, in the order of their ids. */
  changedItems(model: string, query: PageQuery = {}, options?: CallOptions): Promise<api.ChangedItems> {
    return this.call("GET", `${pathOf(model)}/items?${searchOf({ changed: true, ...query })}`, options);
  }

  /** An item as rank calls see it. */
  viewItem(model: string, itemId: ItemId, options?: CallOptions): Promise<api.ShownItem> {
    return this.call("GET", `${pathOf(model)}/items/${encodeURIComponent(itemId)}`, options);
  }

  createModel(body: api.ModelSpec, options?: CallOptions): Promise<api.ModelRecord> {
    const headers = { "idempotency-key": randomId(), ...options?.headers };
    return this.call("POST", "/v0/models", { ...options, headers, body });
  }

  /** Checks a specification against its sources, and creates nothing. */
  dryRun(body: api.ModelSpec, options?: CallOptions): Promise<api.DryRun> {
    return this.call("POST", "/v0/models?dry_run=true", { ...options, body });
  }

  listModels(query: ModelQuery = {}, options?: CallOptions): Promise<api.ModelList> {
    return this.call("GET", `/v0/models?${searchOf(query)}`, options);
  }

  viewModel(model: string, options?: CallOptions): Promise<api.ModelRecord> {
    return this.call("GET", pathOf(model), options);
  }

  /** A JSON merge patch of schema, connectors or schedule. */
  changeModel(model: string, body: api.ModelChange, options?: CallOptions): Promise<api.ModelRecord> {
    return this.call("PATCH", pathOf(model), { ...options, body });
  }

  deleteModel(model: string, options?: CallOptions): Promise<api.DeletedModel> {
    return this.call("DELETE", pathOf(model), { ...options, isRepeatable: false });
  }

  /** `ignore: ["source_shrunken"]` publishes although a source has lost rows or values. */
  trainModel(model: string, { ignore, ...options }: TrainOptions = {}): Promise<api.ModelRecord> {
    const body = ignore ? { ignore } : {};
    return this.call("POST", `${pathOf(model)}/train`, { ...options, body, isRepeatable: false });
  }

  /** Resolves with the model's record when no training is under way. Throws the failure of a training that failed. */
  async waitForTraining(
    model: string,
    { timeoutMs = TRAINING_MS, onRecord, signal }: WaitOptions = {},
  ): Promise<api.ModelRecord> {
    const deadlineMs = Date.now() + timeoutMs;
    for (;;) {
      const record = await this.viewModel(model, signal && { signal });
      onRecord?.(record);
      const { training, failure } = record;
      if (training.state === "IDLE") return record;
      if (training.state === "FAILED") throw new ShortlistError(failure!.code, failure!.message);
      if (Date.now() > deadlineMs) throw new ShortlistError("timeout", `${model} is still in training.`);
      await sleep(POLL_MS, signal);
      signal?.throwIfAborted();
    }
  }

  listRuns(model: string, options?: CallOptions): Promise<api.RunList> {
    return this.call("GET", `${pathOf(model)}/runs`, options);
  }

  listVersions(model: string, options?: CallOptions): Promise<api.VersionList> {
    return this.call("GET", `${pathOf(model)}/versions`, options);
  }

  activateVersion(model: string, version: string, options?: CallOptions): Promise<api.ModelRecord> {
    return this.call("POST", `${pathOf(model)}/versions/${encodeURIComponent(version)}/activate`, {
      ...options,
      body: {},
    });
  }

  viewEvaluation(model: string, options?: CallOptions): Promise<api.EvaluationReport> {
    return this.call("GET", `${pathOf(model)}/evaluation`, options);
  }

  /** The live version's metrics for given users or items, for each value of an attribute, or with a stored scenario. */
  evaluate(model: string, body: { scenario: string }, options?: CallOptions): Promise<api.ScenarioAnswer>;
  evaluate(model: string, body: api.EvaluationQuestion, options?: CallOptions): Promise<api.EvaluationAnswer>;
  evaluate(model: string, body: object, options?: CallOptions): Promise<api.EvaluationAnswer | api.ScenarioAnswer> {
    return this.call("POST", `${pathOf(model)}/evaluation`, { ...options, body });
  }

  listScenarios(model: string, options?: CallOptions): Promise<api.ScenarioList> {
    return this.call("GET", `${pathOf(model)}/scenarios`, options);
  }

  viewScenario(model: string, name: string, options?: CallOptions): Promise<api.Scenario> {
    return this.call("GET", scenarioPath(model, name), options);
  }

  storeScenario(model: string, name: string, body: api.Scenario, options?: CallOptions): Promise<api.Scenario> {
    return this.call("PUT", scenarioPath(model, name), { ...options, body });
  }

  deleteScenario(model: string, name: string, options?: CallOptions): Promise<{ message: string; name: string }> {
    return this.call("DELETE", scenarioPath(model, name), { ...options, isRepeatable: false });
  }

  /** Begins an experiment, or changes the shares of the running one of the same name. */
  putExperiment(model: string, body: api.Experiment, options?: CallOptions): Promise<api.StartedExperiment> {
    return this.call("PUT", `${pathOf(model)}/experiment`, { ...options, body });
  }

  /** Which arm of the running experiment is better so far. */
  viewExperiment(model: string, options?: CallOptions): Promise<api.ExperimentReport> {
    return this.call("GET", `${pathOf(model)}/experiment`, options);
  }

  /** Ends the running experiment. The arm that is kept becomes permanent. */
  endExperiment(model: string, body: { keep?: string } = {}, options?: CallOptions): Promise<api.EndedExperiment> {
    return this.call("DELETE", `${pathOf(model)}/experiment`, { ...options, body, isRepeatable: false });
  }

  /** The user's recent events, the newest first. */
  viewUserEvents(userId: string | number, options?: CallOptions): Promise<api.UserEvents> {
    return this.call("GET", `/v0/users/${encodeURIComponent(userId)}/events`, options);
  }

  /** Says that two ids are one person: the events of `from` count as the user's from the next call on, for good. */
  mergeUsers(userId: string | number, from: string | number, options?: CallOptions): Promise<api.MergedUser> {
    return this.call("POST", `/v0/users/${encodeURIComponent(userId)}/merge`, { ...options, body: { from } });
  }

  /** What happened in the last hour, minute by minute. */
  viewLive(options?: CallOptions): Promise<api.Live> {
    return this.call("GET", "/v0/live", options);
  }

  /** Erases a user from all models, for good. */
  eraseUser(userId: string | number, options?: CallOptions): Promise<api.ErasedUser> {
    return this.call("POST", "/v0/users/erase", { ...options, body: { user_id: userId } });
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
const pathOf = (model: string) => `/v0/models/${encodeURIComponent(model)}`;
const scenarioPath = (model: string, name: string) => `${pathOf(model)}/scenarios/${encodeURIComponent(name)}`;
/** Query parameters, without those that are undefined. */
function searchOf(query: object): URLSearchParams {
  const sent = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(sent.map(([name, value]) => [name, String(value)]));
}
/** crypto.randomUUID exists only on pages that came over https. */
const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Ends early when the signal is aborted. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
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
