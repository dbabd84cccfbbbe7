import { z } from "zod";
import { ModelStatus } from "../../shared/live-pointer.ts";
import { DataSummary, Failure, Progress, TrainingState } from "../../shared/model-record.ts";
import type { CreationBody } from "./creation-body.ts";
import { LocalError, sentence } from "./local-error.ts";
import { expectStatus, type ServiceClient } from "./service-client.ts";

/** What is read of a model's record here. */
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
  /** Fingerprint of what the model was made from when it was last asked for; undefined when that is not known. */
  readonly known: string | undefined;
  readonly fingerprint: string;
  readonly onProgress: (record: LocalRecord) => void;
  readonly say: (line: string) => void;
  readonly pause: (ms: number) => Promise<void>;
  /** Called once the model is known to be made, or to be made again, from these files. */
  readonly onAsked: () => Promise<void>;
};

const POLL_MS = 500;
const DESTROY_WAIT_MS = 120_000;
const RUNNING: readonly TrainingState[] = ["SCHEDULED", "FETCHING", "TRAINING", "EVALUATING", "DEPLOYING"];

/**
 * The record of the model once it is ACTIVE: created when it is not there, trained again when its files have changed or
 * its training had failed, and else taken as it is.
 *
 * @throws LocalError with the failure's own sentence when the training ends without a version that can rank.
 */
export async function ensureModel(
  client: ServiceClient,
  body: CreationBody,
  options: EnsureOptions,
): Promise<LocalRecord> {
  const found = await findModel(client, body.model_name, options);
  if (found === undefined) {
    options.say(`Creating the model ${JSON.stringify(body.model_name)}.`);
    expectStatus(await client.call("POST", "/v0/models", body), 201);
    await options.onAsked();
    return follow(client, body.model_name, options);
  }
  const name = JSON.stringify(body.model_name);
  if (options.known !== undefined && askedFor(options.known) !== askedFor(options.fingerprint))
    throw new LocalError(
      `There is already a model ${name}, made from other files or columns: choose another name with --model NAME, ` +
        `or delete it with curl -X DELETE ${client.edgeUrl}/v0/models/${body.model_name} -H 'x-api-key: ${client.apiKey}'.`,
    );
  if (options.known === undefined) await options.onAsked(); // a start that was stopped before it could note it
  const isChanged = options.known !== undefined && options.known !== options.fingerprint;
  if (RUNNING.includes(found.training.state)) {
    options.say(`The model ${name} is being trained.`);
    return follow(client, body.model_name, options);
  }
  if (found.status === "ACTIVE" && !isChanged) {
    options.say(`The model ${name} is there already, trained ${found.trained_at ?? ""}.`.replace(" .", "."));
    return found;
  }
  options.say(
    isChanged ? `The files of the model ${name} have changed: training it again.` : `Training the model ${name} again.`,
  );
  await trainAgain(client, body);
  await options.onAsked();
  return follow(client, body.model_name, options);
}

/** From where the files lie now; a model whose files were moved trains by being told so. */
async function trainAgain(client: ServiceClient, { model_name, connector_configs }: CreationBody): Promise<void> {
  const path = `/v0/models/${model_name}`;
  const told = recordOf(expectStatus(await client.call("PATCH", path, { connector_configs }), 200));
  if (!RUNNING.includes(told.training.state)) expectStatus(await client.call("POST", `${path}/train`), 202);
}

/** The part of a fingerprint that says what was asked for. */
const askedFor = (fingerprint: string) => fingerprint.split(".")[0];
const recordOf = (body: unknown): LocalRecord => LocalRecord.parse(body);

/** Undefined when there is none, or none any more. */
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
    await options.pause(POLL_MS); // a deletion under way ends in seconds
  }
  throw new LocalError(`The model ${JSON.stringify(name)} is still being deleted; try again in a minute.`);
}

async function follow(client: ServiceClient, name: string, options: EnsureOptions): Promise<LocalRecord> {
  for (;;) {
    const record = recordOf(expectStatus(await client.call("GET", `/v0/models/${name}`), 200));
    options.onProgress(record);
    if (!RUNNING.includes(record.training.state)) return ended(record);
    await options.pause(POLL_MS);
  }
}

/** A retraining that failed leaves the model that ranks; a first one leaves nothing. */
function ended(record: LocalRecord): LocalRecord {
  if (record.status === "ACTIVE" && record.training.state === "IDLE") return record;
  const { failure } = record;
  if (failure === null) throw new LocalError(`The model ended as ${record.status}, and its record does not tell why.`);
  const consequence = record.status === "ACTIVE" ? " The version before it still ranks." : "";
  throw new LocalError(`${sentence(`The training failed while ${failure.stage}: ${failure.message}`)}${consequence}`);
}
