/** The messages between management and the process of a batch. */
import * as z from "zod";
import type { BatchBody } from "../../shared/batch.ts";
import type { ModelSpec } from "../../shared/model-spec.ts";
import type { SentConnectorSettings } from "../settings.ts";

/** The input of the process, sent as JSON. */
export type BatchJob = {
  readonly batchId: string;
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly body: BatchBody;
  readonly connectorSettings: SentConnectorSettings;
  readonly workDirectory: string;
  readonly modelDirectory: string;
  readonly memoryMbMax: number;
  readonly diskBytesMax: number;
};

export const BatchDone = z.object({
  kind: z.literal("done"),
  version: z.string(),
  users: z.int(),
  rows: z.int(),
  files: z.array(z.object({ name: z.string(), bytes: z.int() })),
});
export type BatchDone = z.infer<typeof BatchDone>;

/** The messages of the process. The last one is `done` or `failed`. */
export const BatchMessage = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), fraction: z.number(), detail: z.string() }),
  z.object({ kind: z.literal("access_token") }),
  BatchDone,
  z.object({ kind: z.literal("failed"), code: z.string(), message: z.string(), retryable: z.boolean() }),
]);
export type BatchMessage = z.infer<typeof BatchMessage>;
