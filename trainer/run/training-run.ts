import type { ItemIdType } from "../../shared/ids.ts";
import type { DataSummary, Failure, Progress, TrainingState } from "../../shared/model-record.ts";
import type { ModelSpec } from "../../shared/model-spec.ts";
import type { ConnectorSettings } from "../settings.ts";

/** What a run is given: everything that crosses from the management process to the child, as JSON. */
export type TrainingJob = {
  readonly runId: string;
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly settings: TrainingSettings;
  readonly connectorSettings: Omit<ConnectorSettings, "secret">;
};

export type TrainingSettings = {
  /** A folder of this run alone; removed when the run ends, however it ends. */
  readonly workDirectory: string;
  /** A folder of this model alone, kept between runs; removed with the model. */
  readonly modelDirectory: string;
  /** Of sources that are declared incremental; else a day, and a week. */
  readonly incremental?: { readonly overlapSeconds: number; readonly fullReadSeconds: number };
  readonly seed: number;
  readonly fitSecondsMax: number;
  readonly memoryMbMax: number;
  readonly rejectedShareMax: number;
  readonly weightBytesMax: number;
  /** Memory that an isolate has for versions: more than that is not published. */
  readonly edgeMemoryBytes: number;
  /** Publish even a version that the gate refuses: the operator's choice for experiments. */
  readonly ignoreGate: boolean;
};

/** What a child tells while it works, over IPC, one object a message. */
export type RunMessage =
  | { readonly kind: "progress"; readonly state: TrainingState; readonly progress: Progress }
  | { readonly kind: "data"; readonly data: DataSummary }
  /** Asks whether the run is still to be heard; the answer is a HeldAnswer. */
  | { readonly kind: "is_held" }
  | ({ readonly kind: "published" } & PublishedVersion)
  /** The gate kept the live version: a run that ended well and changed nothing. */
  | { readonly kind: "refused"; readonly reasons: readonly string[]; readonly metrics: RunMetrics }
  | { readonly kind: "failed"; readonly failure: Omit<Failure, "at"> };

/** What a child is told when it asks: the only message that it gets after its job. */
export type HeldAnswer = { readonly is_held: boolean };

/** A version, as the record tells of it while it is live. */
export type PublishedVersion = {
  readonly version: string;
  readonly itemIdType: ItemIdType;
  readonly metrics: RunMetrics;
};

/** Of the winner on the validation part, next to popularity's under `baseline`; keys such as `ndcg@10`. */
export type RunMetrics = { readonly method: string; readonly baseline: Record<string, number> } & Record<
  string,
  unknown
>;
