/** The client of the ranking service, for browsers, Workers, Node, Deno and Bun. It becomes one file. */
import type { CallOptions, ModelQuery, PageQuery, SearchQuery, TrainOptions, WaitOptions } from "./options.ts";
import { PageClient, pathOf, randomId, sleep } from "./page-client.ts";
import type * as api from "./requests-and-answers.ts";
import type { ItemId } from "./requests-and-answers.ts";
import { ShortlistError } from "./shortlist-error.ts";

export type * from "./options.ts";
export type * from "./requests-and-answers.ts";
export { ShortlistError };

const TRAINING_MS = 6 * 3_600_000;
const POLL_MS = 2000;

/** The calls of one edge with one key. In a Worker, make one for each request. */
export class Shortlist extends PageClient {
  /** Changes attributes of items or hides items, at most 1000: all of them or, if one is wrong, none. */
  changeItems(model: string, items: readonly api.ItemChange[], options?: CallOptions): Promise<api.ChangeCounts> {
    return this.call("PATCH", `${pathOf(model)}/items`, { ...options, body: { items } });
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

  /** Begins to make the lists of many users as files, or the users of some items. */
  createBatch(model: string, body: api.Batch = {}, options?: CallOptions): Promise<api.BatchRecord> {
    return this.call("POST", `${pathOf(model)}/batches`, { ...options, body, isRepeatable: false });
  }

  viewBatch(model: string, batchId: string, options?: CallOptions): Promise<api.BatchRecord> {
    return this.call("GET", `${pathOf(model)}/batches/${encodeURIComponent(batchId)}`, options);
  }

  stopBatch(model: string, batchId: string, options?: CallOptions): Promise<api.BatchRecord> {
    return this.call("DELETE", `${pathOf(model)}/batches/${encodeURIComponent(batchId)}`, options);
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

  /** What is wrong or will soon be, with remedies. */
  viewHealth(options?: CallOptions): Promise<api.HealthReport> {
    return this.call("GET", "/v0/health", options);
  }

  /** Erases a user from all models, for good. */
  eraseUser(userId: string | number, options?: CallOptions): Promise<api.ErasedUser> {
    return this.call("POST", "/v0/users/erase", { ...options, body: { user_id: userId } });
  }
}

const scenarioPath = (model: string, name: string) => `${pathOf(model)}/scenarios/${encodeURIComponent(name)}`;
/** Query parameters, without those that are undefined. */
function searchOf(query: object): URLSearchParams {
  const sent = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(sent.map(([name, value]) => [name, String(value)]));
}
