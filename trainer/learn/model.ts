import type { History } from "../../shared/snapshot.ts";
import type { AttributeColumn, Interactions } from "../read/dataset/dataset.ts";

/** What a method learns from. `itemAttributes` may cover items without any interaction (cold items). */
export type TrainingData = Interactions & {
  readonly itemAttributes: readonly AttributeColumn[];
  readonly userAttributes: readonly AttributeColumn[];
};

/** What a fit receives besides the data: seed, limits, abort signal and progress. A fit touches nothing else. */
export type FitContext = {
  /** Uniform in [0, 1); seeded: the same data and seed give the same bytes. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Seconds that the fit may take; a method that cannot stop early ignores it. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  /** `share` 0…1 of the work done. */
  readonly progress: (share: number, detail: string) => void;
};

/** Settings of a method, from a small published grid; all numbers, so that they can be recorded and compared. */
export type Params = Readonly<Record<string, number>>;

/** Of a fit by itself, as if nothing had been fitted before. */
export type Cost = { readonly seconds: number; readonly memoryMb: number; readonly shared?: SharedCost };

/** Part of the seconds that is taken once for all fits on the same data, and whether it has been. */
export type SharedCost = { readonly seconds: number; readonly isLearnt: boolean };

/** Learning is a function. What it returns is finished: there is no half-trained model. */
export type Method<P extends Params = Params> = {
  /** As in the record and the report: `ease`, `sequential_ridge`, `sasrec`, … */
  readonly name: string;
  /** Settings worth trying on this data, the best guess first. */
  grid(data: TrainingData): readonly P[];
  /** Predicted cost, so that a plan can leave out what does not fit. Memory at the peak of the fit. */
  cost(data: TrainingData, params: P): Cost;
  fit(data: TrainingData, params: P, context: FitContext): Promise<FittedModel>;
  /** Whether a fit takes the time that it is given, as what is trained in steps does. */
  readonly fillsItsTime?: boolean;
  /** Names of the methods that it sums, where it is worth no look unless one of them is. */
  readonly sums?: readonly string[];
  /** Whether cold items enter its lists by the bounded rule; the setting `coldEvery` says how often. */
  readonly placesColdItems?: boolean;
};

export type FittedModel = {
  readonly method: string;
  readonly params: Params;
  /** History entries that the model takes at most; the newest are kept. */
  readonly historyMax: number;
  /** The serving form, within the budget; `truncation` says what was left out. */
  export(budget: ServingBudget): ExportedModel;
  /** Reference scores computed without ONNX, for the parity test. Float32Array(itemCount), every value finite. */
  score(history: History): Float32Array;
};

export type ServingBudget = {
  /** Bytes of weights that an isolate may hold for one model. */
  readonly weightBytesMax: number;
};

/**
 * ONNX with external data. Inputs `items` int32 [L], `ages_days` float32 [L] (only those it needs), L ≥ 1, oldest
 * first; output `scores` float32 [itemCount].
 */
export type ExportedModel = {
  readonly graph: Uint8Array;
  readonly weights: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** What was left out to meet the budget, such as "12,000 of 90,000 weights, which matter most"; empty when nothing. */
  readonly truncation: string;
};
