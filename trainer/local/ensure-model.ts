import { setTimeout } from "node:timers/promises";
import { patchBetween } from "../../shared/merge-patch.ts";
import { ModelRecord } from "../../shared/model-record.ts";
import type { Terminal } from "../terminal.ts";
import { LocalError, sentence } from "./local-error.ts";
import type { LocalSource } from "./local-source.ts";
import { progressPrinter } from "./progress.ts";
import { callService, expectStatus, type Service } from "./service-client.ts";

const POLL_MS = 500;

/**
 * Creates the model, or trains it again if it has other files, if they were changed after its last training, or if that failed.
 * Returns its record once it is ACTIVE.
 *
 * @throws LocalError with the failure's message if the training ends without a version.
 */
export async function ensureModel(
  service: Service,
  { body, changedMs }: Pick<LocalSource, "body" | "changedMs">,
  terminal: Terminal,
  pollMs = POLL_MS,
): Promise<ModelRecord> {
  const { print } = terminal;
  const path = `/v0/models/${body.model_name}`;
  const call = async (status: number, method: string, to: string, sent?: object) =>
    expectStatus(await callService(service, method, to, sent), status);

  const found = await callService(service, "GET", path);
  if (found.status === 404) {
    print(`Creating the model "${body.model_name}".`);
    await call(201, "POST", "/v0/models", body);
  } else {
    const { connector_configs, schema } = body;
    // Removes what the files no longer have, such as the source of items.
    const known = ModelRecord.parse(expectStatus(found, 200)).input_schema;
    const patch = { connector_configs, schema: patchBetween(known, schema) };
    const patched = ModelRecord.parse(await call(200, "PATCH", path, patch));
    const { status, trained_at, training } = patched;
    const isFresh = status === "ACTIVE" && training.state !== "FAILED" && changedMs < Date.parse(trained_at ?? "");
    print(`The model "${body.model_name}" exists, ${trained_at ? `trained ${trained_at}` : "not yet trained"}.`);
    if (!isRunning(patched) && !isFresh) await call(202, "POST", `${path}/train`);
  }

  for (const show = progressPrinter(terminal); ; await setTimeout(pollMs, undefined, { signal: service.signal })) {
    const record = ModelRecord.parse(await call(200, "GET", path));
    show(record);
    if (!isRunning(record)) return successOf(record);
  }
}

const isRunning = ({ training }: ModelRecord) => training.state !== "IDLE" && training.state !== "FAILED";

/** The record of an ended training; throws LocalError if the training failed. */
function successOf(record: ModelRecord): ModelRecord {
  const { status, training, failure } = record;
  if (status === "ACTIVE" && training.state === "IDLE") return record;
  if (failure === null) throw new LocalError(`The model ended as ${status}, and its record does not say why.`);
  const consequence = status === "ACTIVE" ? " The previous version stays live." : "";
  throw new LocalError(`${sentence(`The training failed while ${failure.stage}: ${failure.message}`)}${consequence}`);
}
