import type * as z from "zod";
import type { ItemIdType } from "../../../shared/ids.ts";
import type { AttributeDescription } from "../../../shared/model-record.ts";
import type { ExampleUser, SampleRow } from "./dry-run-sample.ts";

/** A problem that a creation body would lead to. */
export type DryRunProblem = {
  readonly pointer: string; // JSON pointer (RFC 6901) into the creation body
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
};

export type QueryReport = {
  readonly pointer: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Rows that were read for this report. */
  sample_size: number;
  /** The first of those rows, at most five, with the columns that a training would read. */
  sample: readonly SampleRow[];
  readonly estimated_rows: number | null;
  readonly estimated_bytes: number | null;
  readonly estimated_cost_usd: number | null;
};

type Attributes = readonly z.infer<typeof AttributeDescription>[];

export type DryRunReport = {
  readonly model_name: string;
  /** True when no problem is an error. */
  ok: boolean;
  item_id_type: ItemIdType | null;
  readonly queries: QueryReport[];
  /** Users among the sample's rows, the one with the most rows first. */
  example_users: readonly ExampleUser[];
  item_attributes: Attributes;
  user_attributes: Attributes;
  /** Null when the number of rows is unknown. */
  predicted_training: { readonly rows: number; readonly seconds: number } | null;
  readonly problems: DryRunProblem[];
};
