import { clipped } from "../../shared/clipped.ts";
import type { RunningCanary, RunningExperiment } from "../../shared/experiment/running.ts";
import type { ExtensionOfVersion } from "../../shared/items/extension-file.ts";
import { LivePointer, type ModelStatus } from "../../shared/live-pointer.ts";
import { type Live, livePointerKey, type StoredMeanings } from "../../shared/manifest.ts";
import { ModelName } from "../../shared/model-spec.ts";
import { Problem } from "../../shared/problem.ts";
import { type ReadAccess, unreadableAs } from "../reading/artifact-reader.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import type { RequestAccess } from "../reading/waiting.ts";

export type NamedModel = { readonly customer: string; readonly modelName: string };

/** One version of a model. */
export type ModelVersion = NamedModel & {
  readonly live: Live;
  /** The versions that serve at the same time, because an experiment compares them. Absent: only this one. */
  readonly serving?: ReadonlySet<string> | undefined;
  /** Only for an arm's version: the live version, which an arm never evicts, and which serves in its place if both do not fit. */
  readonly standIn?: string | undefined;
  /** The manifest's text, if the pointer was just read and has it. Its digest is not checked. */
  readonly manifestJson?: string | undefined;
};

/** A model and its live version. The version was live at `confirmedMs` or later: then the read of the pointer began. */
export type LiveVersion = ModelVersion & {
  readonly confirmedMs: number;
  readonly experiment?: RunningExperiment | undefined;
  /** A new version that serves a share of the users. */
  readonly canary?: RunningCanary | undefined;
  /** The users who lastingly do without the model, and those whom they are compared with. */
  readonly holdout?: RunningExperiment | undefined;
  /** The scenario of calls that name none. */
  readonly defaultScenario?: string | undefined;
  /** How a version scores new items. */
  readonly extension?: ExtensionOfVersion | undefined;
};

/** A model that may be answered by live counts of events until it has a version. */
export type WaitingModel = NamedModel & {
  readonly live: null;
  readonly meanings: StoredMeanings;
  /** The answer while nothing has been counted. */
  readonly notActive: Problem;
};

/** A pointer that is read while the key is read. It belongs to the customer that the key had before, which may be wrong. */
export type PointerAhead = NamedModel & { readonly target: Promise<LiveVersion | WaitingModel> };

/** Called when a requested model has no live version. Versions in memory under its name belong to a deleted model. */
export type OnModelGone = (model: NamedModel, access: RequestAccess) => void;

export type LivePointers = {
  /** Throws Problem model_not_found, model_not_active, artifact_unavailable. */
  liveVersion(customer: string, modelName: string, access: ReadAccess): Promise<LiveVersion | WaitingModel>;
  /** The next call reads the pointer again. */
  invalidate(model: NamedModel, nowMs: number): void;
};

type ReadPointer = Omit<LivePointer, "manifest_json"> & { readonly readAtMs: number };

const POINTERS_MAX = 5000;
const KEPT_MS = 5 * 60_000;
const ABSENT_MS = 1000;
/** By status. The stages of a first training that are not listed end soon. */
const RETRY_AFTER_SECONDS: Readonly<Partial<Record<ModelStatus, number>>> = { TRAINING: 15, FETCHING: 10, ERROR: 60 };

/**
 * Caches the models' live pointers. A pointer is refreshed after `cacheMs` and used for at most twice that time, or for five minutes
 * while the bucket cannot be read.
 */
export function livePointers(cacheMs: number, onModelGone: OnModelGone = () => {}): LivePointers {
  const cache = refreshedCache<ReadPointer>(
    { freshMs: cacheMs, servableMs: 2 * cacheMs, keptMs: KEPT_MS, absentMs: Math.min(cacheMs, ABSENT_MS) },
    POINTERS_MAX,
  );
  return {
    async liveVersion(customer, modelName, access) {
      if (!ModelName.safeParse(modelName).success) throw notFound(modelName);
      const key = livePointerKey(customer, modelName);
      let manifestJson: string | undefined; // not in the cache: the manifests of thousands of models would fill the isolate
      const read = async (): Promise<ReadPointer | undefined> => {
        const readAtMs = access.nowMs();
        const found = await access.reader.json(key, LivePointer);
        if (found === undefined) return undefined;
        const { manifest_json, ...pointer } = found;
        manifestJson = manifest_json;
        return { ...pointer, readAtMs };
      };
      const pointer = await cache
        .get(key, read, access)
        .catch(unreadableAs("artifact_unavailable", "Which version of the model is live cannot be read right now"));
      if (!pointer?.live) onModelGone({ customer, modelName }, access);
      if (pointer === undefined || pointer.status === "DESTROYING") throw notFound(modelName);
      const { status, live, events, experiment, canary, holdout, extension } = pointer;
      const running = { experiment, canary, holdout, defaultScenario: pointer.default_scenario, extension };
      if (status === "ACTIVE" && live !== null)
        return { customer, modelName, live, manifestJson, confirmedMs: pointer.readAtMs, ...running };
      if (events === undefined) throw notActive(modelName, status);
      return { customer, modelName, live: null, meanings: events.meanings, notActive: notActive(modelName, status) };
    },
    invalidate: ({ customer, modelName }, nowMs) => cache.invalidate(livePointerKey(customer, modelName), nowMs),
  };
}

const notFound = (modelName: string) =>
  new Problem("model_not_found", `There is no model with the name ${JSON.stringify(clipped(modelName, 64))}.`);

const notActive = (modelName: string, status: ModelStatus) =>
  new Problem(
    "model_not_active",
    status === "ERROR"
      ? `The model ${modelName} has no version to rank with: its training failed. See "failure" in its record.`
      : `The model ${modelName} cannot rank before its first training has ended; its status is ${status}.`,
    { extra: { model_status: status }, retryAfterSeconds: RETRY_AFTER_SECONDS[status] ?? 5 },
  );
