import { setImmediate } from "node:timers/promises";
import type { StoredRecipe } from "../../shared/score-recipe.ts";
import type { AttributeColumn, Interactions } from "../read/dataset/dataset.ts";
import type { GraphBuilder } from "./numerics/onnx/graph.ts";

/** The data that a method learns from. `itemAttributes` may describe items without any interaction (cold items). */
export type TrainingData = Interactions & {
  readonly itemAttributes: readonly AttributeColumn[];
  readonly userAttributes: readonly AttributeColumn[];
};

/** Everything that a fit receives besides the data. A fit reads no file or network of its own. */
export type FitContext = {
  /** Uniform in [0, 1) and seeded: the same data, seed and number of threads give the same bytes. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Seconds that the fit may take; a method that cannot stop early ignores it. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  /** Seconds on the clock that `secondsMax` is measured by. Absent: the machine's. */
  readonly clock?: () => number;
  /** Threads that train a network together, for a clock that counts the seconds of all. Absent: by the machine's cores. */
  readonly threads?: number | undefined;
  /** `fraction` of the work that is done, 0…1. */
  readonly progress: (fraction: number, detail: string) => void;
  /** Fits a method within a fit, or returns what has been fitted before. Absent: it is always fitted. */
  readonly fitPart?: FitPart;
};

export type FitPart = (method: Method, data: TrainingData, params: Params, context: FitContext) => Promise<FittedModel>;

/** Fits a method that is a part of another, or reuses the fitted part that the context knows. */
export const fitOrReuse: FitPart = (method, data, params, context) =>
  context.fitPart ? context.fitPart(method, data, params, context) : method.fit(data, params, context);

/** Seconds on the clock that `secondsMax` is measured by. */
export const clockOf = ({ clock }: FitContext): (() => number) => clock ?? (() => performance.now() / 1000);

/** Reports progress, lets other work of the process run, and throws if the fit was aborted. */
export async function reportProgress(context: FitContext, fraction: number, detail: string): Promise<void> {
  context.progress(fraction, detail);
  await setImmediate();
  context.signal.throwIfAborted();
}

/** Settings of a method, from a small published grid; all numbers, so that they can be recorded and compared. */
export type Params = Readonly<Record<string, number>>;

/** Predicted cost of one fit, as if nothing had been fitted before. */
export type Cost = {
  readonly seconds: number;
  /** Peak memory of the fit, beyond the data. */
  readonly memoryMb: number;
  /** Memory that the fitted model keeps. Absent: half of the peak. */
  readonly heldMb?: number;
  readonly shared?: SharedCost;
};

export const heldMbOf = ({ memoryMb, heldMb = memoryMb / 2 }: Cost): number => heldMb;

/** The part of the seconds that all fits on the same data pay only once. `isPaid`: an earlier fit has paid it. */
export type SharedCost = { readonly seconds: number; readonly isPaid: boolean };

/** Learning is a function: `fit` returns a finished model, and no half-trained model exists. */
export type Method<P extends Params = Params> = {
  /** The name in records and reports: `local_ridge`, `sequential_ridge`, `sasrec`, … */
  readonly name: string;
  /** Settings worth trying on this data, the best guess first. */
  grid(data: TrainingData): readonly P[];
  cost(data: TrainingData, params: P): Cost;
  /** The same settings for less memory or time, which may rank a little worse. Undefined, or absent: there are none. */
  smaller?(params: P): P | undefined;
  fit(data: TrainingData, params: P, context: FitContext): Promise<FittedModel>;
  /** True when a fit uses all the time that it is given, as networks do. */
  readonly fillsItsTime?: boolean;
  /** What it takes a history for; methods of one kind suit the same data. Absent: a set, whose order does not change the scores. */
  readonly reads?: "sequence" | "session";
  /**
   * Methods that rank as well as this one or better on these data and take no more time. It is tried where none of them could be.
   * Absent: there are none.
   */
  readonly standsInFor?: (data: TrainingData) => readonly string[];
  /** The methods that this blend may combine, by name. Absent: it is no blend. */
  readonly partMethods?: Readonly<Record<string, Method>>;
  /** The same method without cold items. Absent: its lists hold none (attributes/cold-start.ts). */
  readonly warm?: Method;
};

export type FittedModel = {
  readonly method: string;
  readonly params: Params;
  readonly itemCount: number;
  /** Largest number of history entries that the model reads; callers keep the newest. */
  readonly historyMax: number;
  /** Adds the model's scoring to a graph, which may hold other models too. */
  readonly append: AppendScores;
  /** Total size of the model's weight files, in bytes, when nothing is left out and weights are in 8-bit codes if these are smaller. */
  readonly bytesCoded: () => number;
  /** Smallest total size of the model's weight files, in bytes. Absent: a smaller budget is refused by `append`. */
  readonly bytesLeast?: () => number;
  /** The serving form within the budget; `truncation` says what was left out. */
  export(budget: ServingBudget): ExportedModel;
};

export type ServingBudget = {
  /** Bytes of weights that an isolate may hold for one model. */
  readonly weightBytesMax: number;
};

/** @param items Name of the graph's input: int32 [L], the history's items, oldest first. */
export type AppendScores = (graph: GraphBuilder, items: string, budget: PartBudget) => GraphPart;

/** `prefix` begins the names of the part's files, so that files of different parts never collide. */
export type PartBudget = ServingBudget & { readonly prefix: string };

/** One model's nodes within a scoring graph, its files, and what was left out to meet the budget. */
export type GraphPart = {
  /** Name of a float32 [itemCount] value. */
  readonly scores: string;
  readonly weights: ExportedModel["weights"];
  readonly truncation: string;
  /** How the scores of a few items follow from the files. Absent: only by scoring all items. */
  readonly recipe?: StoredRecipe | undefined;
};

/** ONNX with external data. Input `items` int32 [L], L ≥ 1, oldest first; output `scores` float32 [itemCount]. */
export type ExportedModel = {
  readonly graph: Uint8Array;
  readonly weights: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** What was left out to meet the budget, such as "12,000 of 90,000 weights, which matter most"; empty when nothing. */
  readonly truncation: string;
  /** How the scores of a few items follow from the weights; without the sums over the catalog. Absent: only by scoring all items. */
  readonly recipe?: StoredRecipe | undefined;
};
