import { z } from "zod";
import { ModelStatus } from "../../shared/live-pointer.ts";
import { DataSummary, Failure, Progress, TrainingState } from "../../shared/model-record.ts";
import type { CreationBody } from "./creation-body.ts";
import { LocalError, sentence } from "./local-error.ts";
import { expectStatus, type ServiceClient } from "./service-client.ts";

/** The fields of a model's record that `npm start` reads. */
const LocalRecord = z.looseObject({
  status: ModelStatus,
  version: z.string().nullable(),
  trained_at: z.string().nullable(),
  training: z.looseObject({ state: TrainingState, run_id: z.string().nullable(), progress: Progress.nullable() }),
  data: DataSummary.nullable(),
  metrics: z.looseObject({ method: z.string(), baseline: z.record(z.string(), z.number()) }).nullable(),
  failure: Failure.nullable(),
});
export type LocalRecord = z.infer<typeof LocalRecord>;

export type EnsureOptions = {
  /** Fingerprint at the last creation or training request; undefined if there was none. */
  readonly knownFingerprint: string | undefined;
  readonly fingerprint: string;
  readonly onProgress: (record: LocalRecord) => void;
  readonly print: (line: string) => void;
  readonly pause: (ms: number) => Promise<void>;
  /** Called after a training on these files has been requested. */
  readonly onRequested: () => Promise<void>;
};

const POLL_MS = 500;
const DESTROY_WAIT_MS = 120_000;
const RUNNING: readonly TrainingState[] = ["SCHEDULED", "FETCHING", "TRAINING", "EVALUATING", "DEPLOYING"];

/**
 * Creates the model if it does not exist, retrains it if its files have changed or its last training failed, and returns
 * its record once it is ACTIVE.
 *
 * @throws LocalError with the failure's message if the training ends without a version.
 */
export async function ensureModel(
  client: ServiceClient,
  body: CreationBody,
  options: EnsureOptions,
): Promise<LocalRecord> {
  const found = await findModel(client, body.model_name, options);
  if (found === undefined) {
    options.print(`Creating the model ${JSON.stringify(body.model_name)}.`);
    expectStatus(await client.call("POST", "/v0/models", body), 201);
    await options.onRequested();
    return follow(client, body.model_name, options);
  }
  const name = JSON.stringify(body.model_name);
  if (
    options.knownFingerprint !== undefined &&
    requestPart(options.knownFingerprint) !== requestPart(options.fingerprint)
  )
    throw new LocalError(
      `There is already a model ${name}, trained on other files or columns: choose another name with --model NAME, ` +
        `or delete it with curl -X DELETE ${client.edgeUrl}/v0/models/${body.model_name} -H 'x-api-key: ${client.apiKey}'.`,
    );
  if (options.knownFingerprint === undefined) await options.onRequested(); // an earlier start was stopped before it could write this down
  const isChanged = options.knownFingerprint !== undefined && options.knownFingerprint !== options.fingerprint;
  if (RUNNING.includes(found.training.state)) {
    options.print(`The model ${name} is being trained.`);
    return follow(client, body.model_name, options);
  }
  if (found.status === "ACTIVE" && !isChanged) {
    options.print(`The model ${name} exists, trained ${found.trained_at ?? ""}.`.replace(" .", "."));
    return found;
  }
  options.print(
    isChanged ? `The files of the model ${name} have changed: training it again.` : `Training the model ${name} again.`,
  );
  await trainAgain(client, body);
  await options.onRequested();
  return follow(client, body.model_name, options);
}

/** Sets the current paths of the files and starts a training, unless the changed paths have started one. */
async function trainAgain(client: ServiceClient, { model_name, connector_configs }: CreationBody): Promise<void> {
  const path = `/v0/models/${model_name}`;
  const patched = recordOf(expectStatus(await client.call("PATCH", path, { connector_configs }), 200));
  if (!RUNNING.includes(patched.training.state)) expectStatus(await client.call("POST", `${path}/train`), 202);
}

/** The part of a fingerprint that identifies the request, without the state of the files. */
const requestPart = (fingerprint: string) => fingerprint.split(".")[0];
const recordOf = (body: unknown): LocalRecord => LocalRecord.parse(body);

/** Returns undefined if the model does not exist; waits for a deletion that is under way. */
async function findModel(
  client: ServiceClient,
  name: string,
  options: EnsureOptions,
): Promise<LocalRecord | undefined> {
  for (let waitedMs = 0; waitedMs < DESTROY_WAIT_MS; waitedMs += POLL_MS) {
    const answer = await client.call("GET", `/v0/models/${name}`);
    if (answer.status === 404) return undefined;
    const record = recordOf(expectStatus(answer, 200));
    if (record.status !== "DESTROYING") return record;
    await options.pause(POLL_MS);
  }
  throw new LocalError(`The model ${JSON.stringify(name)} is still being deleted; try again in a minute.`);
}

async function follow(client: ServiceClient, name: string, options: EnsureOptions): Promise<LocalRecord> {
  for (;;) {
    const record = recordOf(expectStatus(await client.call("GET", `/v0/models/${name}`), 200));
    options.onProgress(record);
    if (!RUNNING.includes(record.training.state)) return recordOfSuccess(record);
    await options.pause(POLL_MS);
  }
}

/** The record of an ended training; throws LocalError if the training failed. */
function recordOfSuccess(record: LocalRecord): LocalRecord {
  if (record.status === "ACTIVE" && record.training.state === "IDLE") return record;
  const { failure } = record;
  if (failure === null) throw new LocalError(`The model ended as ${record.status}, and its record does not say why.`);
  const consequence = record.status === "ACTIVE" ? " The previous version stays live." : "";
  throw new LocalError(`${sentence(`The training failed while ${failure.stage}: ${failure.message}`)}${consequence}`);
}
