import type { ExportedModel } from "../../learn/model.ts";

/** A model in the form in which it is served. */
export type Served = {
  readonly exported: ExportedModel;
  readonly historyMax: number;
  /** How users without a history are ranked for; absent: by popularity. */
  readonly values?: ServedValues | undefined;
};

/** What users' attributes say of items (shared/user-values.ts), and which values each user of the training part has. */
export type ServedValues = {
  score(codes: readonly number[]): Float32Array;
  codesOf(user: number): readonly number[];
};
