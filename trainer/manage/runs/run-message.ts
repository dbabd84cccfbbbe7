import { z } from "zod";
import { DataSummary, Failure, Progress, TrainingState } from "../../../shared/model-record.ts";
import type { RunMessage } from "../../run/training-run.ts";

const TEXT_MAX = 4000;
const clipped = z.string().transform((text) => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text));
const Metrics = z.looseObject({ method: z.string().max(100), baseline: z.record(z.string(), z.number()) });

const Message = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), state: TrainingState, progress: Progress }),
  z.object({ kind: z.literal("data"), data: DataSummary }),
  z.object({ kind: z.literal("owns_lease") }),
  z.object({
    kind: z.literal("published"),
    version: z.string().min(1).max(64),
    itemIdType: z.enum(["string", "integer"]),
    metrics: Metrics,
  }),
  z.object({ kind: z.literal("refused"), reasons: z.array(clipped).max(100), metrics: Metrics }),
  z.object({
    kind: z.literal("failed"),
    failure: Failure.omit({ at: true }).extend({ message: clipped }),
  }),
]);

/** What a run's process sent, checked; undefined when it is none of the messages. */
export function parseRunMessage(value: unknown): RunMessage | undefined {
  const parsed = Message.safeParse(value);
  return parsed.success ? (parsed.data as RunMessage) : undefined;
}
