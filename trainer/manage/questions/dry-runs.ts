/** Dry runs: limited in number, time and memory, each in a process of its own, so that a bad file can only end that process. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { eventFilesPrefix } from "../../../shared/events/event-store.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import { Problem } from "../../../shared/problem.ts";
import type { Log } from "../../log/log.ts";
import { redacted, secretsIn } from "../../log/redaction.ts";
import { accessTokenAnswer } from "../../read/connectors/bigquery/access-token.ts";
import { customerSettings } from "../../read/customer-settings.ts";
import { type SentConnectorSettings, type Settings, storeEnvironment } from "../../settings.ts";
import { StageError } from "../../stage/stage-error.ts";
import type { BucketGrants } from "../../store/bucket-grants.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { diskLimit } from "../processes/disk-space.ts";
import { superviseProcess } from "../processes/supervised-process.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import { onePerCustomer } from "./one-per-customer.ts";

/** Performs one dry run and returns its report. */
export type DryRun = (spec: ModelSpec, customer: string, signal: AbortSignal) => Promise<object>;

export type DryRuns = {
  /**
   * Ends when `caller` aborts.
   *
   * @throws Problem rate_limited while the customer's other dry run is in progress, overloaded while too many others are,
   * invalid_parameter when nothing can be read.
   */
  run(spec: ModelSpec, customer: string, caller: AbortSignal): Promise<object>;
};

export type DryRunLimits = { readonly atOnce: number; readonly seconds: number };

/** Removes the spec's secrets from reports and errors. */
export function dryRuns(dryRun: DryRun, { atOnce, seconds }: DryRunLimits): DryRuns {
  const limited = onePerCustomer({ atOnce, retryAfterSeconds: seconds, names: ["A dry run", "dry runs"] });
  return {
    run: (spec, customer, caller) =>
      limited(customer, async () => {
        const secrets = secretsIn(spec.connector_configs);
        const timeout = AbortSignal.timeout(seconds * 1000);
        try {
          return redacted(await dryRun(spec, customer, AbortSignal.any([caller, timeout])), secrets);
        } catch (error) {
          if (caller.aborted) throw new Problem("invalid_parameter", "The caller did not wait for the dry run.");
          if (timeout.aborted)
            throw new Problem("invalid_parameter", `The source did not answer the dry run within ${seconds} seconds.`);
          if (!(error instanceof StageError)) throw error;
          const message = redacted(error.message, secrets);
          throw new Problem("invalid_parameter", message, { cause: error, extra: { stage_code: error.code } });
        }
      }),
  };
}

/** The input of a dry run's process, sent as JSON. */
export type DryRunJob = {
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly connectorSettings: SentConnectorSettings;
  readonly rejectedFractionMax: number;
  readonly fitSecondsMax: number;
};

/** The messages of that process: questions for a BigQuery access token, and at last its answer. */
const DryRunAnswer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("access_token") }),
  z.object({ kind: z.literal("report"), report: z.looseObject({}) }),
  z.object({ kind: z.literal("failed"), code: z.string(), message: z.string() }),
]);
export type DryRunAnswer = z.infer<typeof DryRunAnswer>;

/** Memory of a connector, enough for the samples. */
const QUERY_MEMORY_MB_MAX = 512;
const GRACE_SECONDS = 1;

export type DryRunParts = {
  readonly program: string;
  readonly settings: Settings;
  readonly store: ObjectStore;
  readonly grants: BucketGrants;
  readonly folders: ModelFolders;
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly log: Log;
};

export function dryRunInProcess({
  program,
  settings,
  store,
  grants,
  folders,
  secondsMax,
  memoryMbMax,
  log,
}: DryRunParts): DryRun {
  return async (spec, customer, signal) => {
    const id = `dry-${randomUUID()}`;
    const { temp, work } = await folders.makeRun(id);
    let answer: DryRunAnswer | undefined;
    try {
      const connectors = settings.connectorsOf(customer, temp);
      const connectorSettings = await customerSettings({ customer, spec, settings: connectors, store });
      const memoryMb = Math.min(QUERY_MEMORY_MB_MAX, connectorSettings.memoryMb);
      const { rejectedFractionMax, fitSecondsMax } = settings.runs;
      const input: DryRunJob = {
        customer,
        spec,
        connectorSettings: { ...connectorSettings, memoryMb },
        rejectedFractionMax,
        fitSecondsMax,
      };
      const disk = await diskLimit([work], settings.runs);
      const end = await superviseProcess({
        program,
        input,
        environment: {
          ...settings.childEnvironment(customer),
          ...(spec.schema.interaction.events && storeEnvironment(grants.options(eventsGrant(customer, secondsMax)))),
        },
        memoryMbMax,
        disk,
        secondsMax,
        graceSeconds: GRACE_SECONDS,
        signal,
        onMessage(value, answerChild) {
          const parsed = DryRunAnswer.safeParse(value);
          if (!parsed.success) return "wrong";
          if (parsed.data.kind === "access_token") {
            void accessTokenAnswer(connectorSettings).then(answerChild);
            return "more";
          }
          answer = parsed.data;
          return "last";
        },
      });
      signal.throwIfAborted();
      if (answer?.kind === "report") return answer.report;
      if (answer?.kind === "failed") throw failure(answer.code, answer.message);
      const output = redacted(end.outputTail, secretsIn(spec.connector_configs));
      log({ event: "dry_run_ended", level: "warning", customer, ended: end.ended, ...end.exit, output });
      if (end.ended === "memory" || end.heapExhausted)
        throw failure("out_of_memory", `Reading the sample needed more than ${memoryMbMax} MB of memory.`);
      if (end.ended === "disk")
        throw failure("disk_budget_exceeded", `Reading the sample needed more than ${disk.bytesMax} bytes of disk.`);
      throw failure("dry_run_crashed", "The source could not be read: what it holds made the reader stop.");
    } finally {
      await folders.removeRun(id);
    }
  };
}

const eventsGrant = (customer: string, seconds: number) => ({
  prefixes: [eventFilesPrefix(customer)],
  objects: [],
  seconds,
});

const failure = (code: string, message: string) => new StageError("fetching", code, message);
