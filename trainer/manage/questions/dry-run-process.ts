import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import type { Log } from "../../log/log.ts";
import { redacted, secretsIn } from "../../log/redaction.ts";
import type { ConnectorSettings, Settings } from "../../settings.ts";
import { type Stage, StageError } from "../../stage/stage-error.ts";
import { StoreError } from "../../store/object-store.ts";
import { superviseProcess } from "../processes/supervised-process.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import type { DryRun } from "./dry-runs.ts";

/** What the process of a dry run is given, as JSON. */
export type DryRunJob = {
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly connectorSettings: Omit<ConnectorSettings, "secret">;
  readonly rejectedShareMax: number;
  readonly fitSecondsMax: number;
};

/** What it answers. */
const DryRunAnswer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("report"), report: z.looseObject({}) }),
  z.object({ kind: z.literal("failed"), code: z.string(), message: z.string() }),
  /** The bucket failed, which is no fault of the source's. */
  z.object({ kind: z.literal("unavailable"), message: z.string() }),
]);
export type DryRunAnswer = z.infer<typeof DryRunAnswer>;

/** Enough for the samples. */
const QUERY_MEMORY_MB_MAX = 512;
const GRACE_SECONDS = 1;

export type DryRunParts = {
  readonly program: string;
  readonly settings: Settings;
  readonly folders: ModelFolders;
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly log: Log;
};

/** Dry runs in processes of their own: a file that crashes or fills a parser costs its caller a message, no more. */
export function dryRunInProcess({ program, settings, folders, secondsMax, memoryMbMax, log }: DryRunParts): DryRun {
  return async (spec, customer, signal) => {
    const id = `dry-${randomUUID()}`;
    const { temp } = await folders.makeRun(id);
    const { secret: _, ...connectorSettings } = settings.connectorsOf(customer, temp);
    const memoryMb = Math.min(QUERY_MEMORY_MB_MAX, connectorSettings.memoryMb);
    const { rejectedShareMax, fitSecondsMax } = settings.runs;
    const input: DryRunJob = {
      customer,
      spec,
      connectorSettings: { ...connectorSettings, memoryMb },
      rejectedShareMax,
      fitSecondsMax,
    };
    let answer: DryRunAnswer | undefined;
    try {
      const end = await superviseProcess({
        program,
        input,
        environment: settings.childEnvironment(customer),
        memoryMbMax,
        secondsMax,
        graceSeconds: GRACE_SECONDS,
        signal,
        onMessage(value) {
          const parsed = DryRunAnswer.safeParse(value);
          if (!parsed.success) return "wrong";
          answer = parsed.data;
          return "last";
        },
      });
      signal.throwIfAborted();
      if (answer?.kind === "report") return answer.report;
      if (answer?.kind === "failed") throw failure(answer.code, answer.message);
      if (answer?.kind === "unavailable") throw new StoreError(answer.message);
      const output = redacted(end.outputTail, secretsIn(spec.connector_configs));
      log({ event: "dry_run_ended", level: "warning", customer, ended: end.ended, ...end.exit, output });
      if (end.ended === "memory" || end.heapExhausted)
        throw failure("out_of_memory", `Reading the sample needed more than ${memoryMbMax} MB of memory.`);
      throw failure("dry_run_crashed", "The source could not be read: what it holds made the reader stop.");
    } finally {
      await folders.removeRun(id);
    }
  };
}

const failure = (code: string, message: string) => new StageError("fetching" satisfies Stage, code, message);
