import type { GateVerdict } from "../../shared/evaluation-report.ts";
import type { CanaryState } from "../../shared/experiment/canary.ts";
import type { ItemIdType } from "../../shared/ids.ts";
import type { DataSummary, Failure, Progress, TrainingState } from "../../shared/model-record.ts";
import type { ModelSpec } from "../../shared/model-spec.ts";
import type { Quality, RefusedReport } from "../../shared/run-record.ts";
import type { SentConnectorSettings } from "../settings.ts";

/** The input of a run: everything that crosses from the management process to the child process, as JSON. */
export type TrainingJob = {
  readonly runId: string;
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly settings: TrainingSettings;
  readonly erasure: ErasureJob;
  readonly connectorSettings: SentConnectorSettings;
};

export type ErasureJob = {
  /** The salt of the customer's user hashes, as on the list of erased users. Null: this version gets a salt of its own. */
  readonly salt: string | null;
  /** What was stored before this time has to lose the users of the list now. Null: nothing is due. */
  readonly dueMs: number | null;
};

export type TrainingSettings = {
  /** Only this run uses the folder. It is removed when the run ends, also after a crash. */
  readonly workDirectory: string;
  /** Only this model uses the folder. It is kept between runs and removed with the model. */
  readonly modelDirectory: string;
  /** Applies to incremental sources. Absent: an overlap of one day and a full read each week. */
  readonly incremental?: { readonly overlapSeconds: number; readonly fullReadSeconds: number };
  readonly seed: number;
  readonly fitSecondsMax: number;
  /** Memory of the run's process. What the process itself needs of it is not for data and models (free-memory.ts). */
  readonly memoryMbMax: number;
  /** Methods with which an earlier attempt of this run exceeded its memory. They are not tried again. */
  readonly tooLarge?: readonly string[];
  /** Bytes that the run may have in both folders together. Management ends a process that has more. */
  readonly diskBytesMax: number;
  readonly rejectedFractionMax: number;
  readonly weightBytesMax: number;
  /** Memory that an isolate of the edge has for versions. A larger version is not published. */
  readonly edgeMemoryBytes: number;
  /** Publishes also what the gate refuses, for experiments. */
  readonly ignoreGate: boolean;
  /** Refusals of the gate that the call which started the run wants ignored. */
  readonly ignored?: GateVerdict["codes"];
};

/** Messages of the child process to management. The last one is `published`, `refused` or `failed`. */
export type RunMessage =
  | { readonly kind: "progress"; readonly state: TrainingState; readonly progress: Progress }
  | { readonly kind: "data"; readonly data: DataSummary }
  /** The method that is tried next; absent: none any more. */
  | { readonly kind: "trying"; readonly method?: string | undefined }
  /** What was due of ErasureJob is done. */
  | { readonly kind: "erased_removed" }
  /** Asks whether this run still owns the model's lease. The reply is a LeaseAnswer. */
  | { readonly kind: "owns_lease" }
  /** Asks for a BigQuery access token. The reply is an AccessTokenAnswer. */
  | { readonly kind: "access_token" }
  | TrainOutcome
  | { readonly kind: "failed"; readonly failure: Omit<Failure, "at"> };

export type TrainOutcome =
  | ({
      readonly kind: "published";
      readonly quality: Quality | null;
      /** What the gate decided by, of a version with a canary. */
      readonly report?: RefusedReport | undefined;
    } & PublishedVersion)
  /** The gate refused the new version: the run ended without an error, and the live version stays. */
  | {
      readonly kind: "refused";
      /** Why, where the gate has a code of its own. */
      readonly code?: string | undefined;
      readonly reasons: readonly string[];
      readonly quality: Quality | null;
      readonly report: RefusedReport;
    };

export type LeaseAnswer = { readonly kind: "owns_lease"; readonly owns_lease: boolean };

/** What the model's record says about its live version. */
export type PublishedVersion = {
  /** Present while the version serves only a share of the users, before it goes live. */
  readonly canary?: CanaryState | undefined;
  readonly version: string;
  readonly itemIdType: ItemIdType;
  readonly metrics: RunMetrics;
};

/** Validation metrics of the chosen model, with keys such as `ndcg@10`; those of popularity stand under `baseline`. */
export type RunMetrics = { readonly method: string; readonly baseline: Record<string, number> } & Record<
  string,
  unknown
>;
