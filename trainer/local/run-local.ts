import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { hashApiKey } from "../../shared/api-key.ts";
import { isKeyValid, KeyRecord, keyRecordKey } from "../../shared/key-record.ts";
import { lockState, StateLockedError } from "../manage/state-lock.ts";
import { issueKey } from "../store/key-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { ensureDemoShop } from "./demo-shop.ts";
import { ensureModel, type LocalRecord } from "./ensure-model.ts";
import { LocalError, sentence } from "./local-error.ts";
import { type LocalServices, startServices } from "./local-services.ts";
import { describeFiles, type FileAccess, type LocalSource } from "./local-source.ts";
import {
  ensureLocalSecrets,
  LOCAL_CUSTOMER,
  localS3,
  readLocalSources,
  writeLocalSecrets,
  writeLocalService,
  writeLocalSources,
} from "./local-state.ts";
import { type ProgressOutput, progressLine } from "./progress-line.ts";
import { sampleFilter, sampleUser, titlesOf } from "./sample-user.ts";
import { type ServiceClient, serviceClient } from "./service-client.ts";
import { callRank, listText, type RankExample, rankExamples } from "./show-ranking.ts";
import type { StartOptions } from "./start-flags.ts";

export type LocalWorld = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly output: ProgressOutput;
  readonly nowMs: () => number;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
};

const STOP_GRACE_MS = 20_000;

/**
 * Runs `npm start`: data → services → API key → model → example rankings. It then stays up until the signal is aborted,
 * or returns after printing with `--exit`. No process is left running in any case.
 */
export async function runLocal(options: StartOptions, world: LocalWorld): Promise<void> {
  const print = (line: string) => world.output.write(`${line}\n`);
  await mkdir(options.state, { recursive: true, mode: 0o700 });
  const lock = await lockLocal(options.state);
  let services: LocalServices | undefined;
  try {
    const access = { tempDirectory: join(options.state, "temp"), signal: world.signal };
    await mkdir(access.tempDirectory, { recursive: true });
    const files = options.files ?? { ...(await ensureDemoShop(join(options.state, "data"))), columns: {} };
    const model = options.model ?? (options.files === null ? "demo-shop" : null);
    const source = await describeFiles(files, { model, ...access });
    if (options.files !== null) print(["The columns:", ...source.findings].join("\n  "));

    services = await startAll(options, source, world);
    await Promise.race([services.failed, useServices(services, { options, source, world, access })]);
    if (options.exit) return;
    print(`\nUp until Ctrl-C. The edge is ${services.edgeUrl}, the trainer ${services.trainerUrl}.`);
    await Promise.race([services.failed, aborted(world.signal)]);
  } finally {
    await services?.stop(STOP_GRACE_MS);
    await rm(join(options.state, "temp"), { recursive: true, force: true });
    lock.release();
  }
}

/** Starts edge and trainer, which may read the folders of all models created with this state folder. */
async function startAll(options: StartOptions, source: LocalSource, world: LocalWorld): Promise<LocalServices> {
  const known = Object.values(await readLocalSources(options.state)).flatMap((entry) => entry.folders);
  const secrets = await ensureLocalSecrets(options.state);
  const { state, edgePort, trainerPort } = options;
  world.output.write("Starting the edge and the trainer.\n");
  return startServices({
    state,
    edgePort,
    trainerPort,
    secrets,
    folders: [...new Set([...source.folders, ...known])],
    environment: world.environment,
  });
}

type LocalContext = {
  readonly options: StartOptions;
  readonly source: LocalSource;
  readonly world: LocalWorld;
  readonly access: Omit<FileAccess, "folders">;
};

/** Issues the key, trains the model, prints example rankings and writes local.json. */
async function useServices(services: LocalServices, { options, source, world, access }: LocalContext): Promise<void> {
  const { state } = options;
  const print = (line: string) => world.output.write(`${line}\n`);
  const secrets = await ensureLocalSecrets(state);
  const store = s3Store({ ...localS3(services.edgeUrl, secrets), signal: world.signal });
  const apiKey = await ensureLocalKey(store, { apiKey: secrets.api_key, nowMs: world.nowMs() });
  await writeLocalSecrets(state, { ...secrets, api_key: apiKey });

  const client = serviceClient(services.edgeUrl, apiKey, world.signal);
  const name = source.body.model_name;
  const record = await trained(client, source, { state, world });
  await showRankings(client, source, { record, print, access: { ...access, folders: source.folders } });
  await writeLocalService(state, {
    edge_url: services.edgeUrl,
    trainer_url: services.trainerUrl,
    api_key: apiKey,
    model_name: name,
  });
}

/** Returns the given API key if it is still valid, else issues one for the customer `local` with both scopes. */
export async function ensureLocalKey(
  store: ObjectStore,
  { apiKey, nowMs }: { readonly apiKey: string | null; readonly nowMs: number },
): Promise<string> {
  if (apiKey !== null) {
    const found = await store.get(keyRecordKey(await hashApiKey(apiKey)));
    const record = found && KeyRecord.safeParse(JSON.parse(new TextDecoder().decode(found.bytes)));
    if (record?.success && isKeyValid(record.data, nowMs)) return apiKey;
  }
  const scopes = ["rank", "manage"] as const;
  const random = (count: number) => randomBytes(count);
  return (await issueKey(store, { customer: LOCAL_CUSTOMER, scopes, expiresAtMs: null, nowMs, random })).key;
}

async function trained(
  client: ServiceClient,
  source: LocalSource,
  { state, world }: { readonly state: string; readonly world: LocalWorld },
): Promise<LocalRecord> {
  const sources = await readLocalSources(state);
  const name = source.body.model_name;
  const line = progressLine(world.output);
  try {
    const knownFingerprint = sources[name]?.fingerprint;
    const { fingerprint, folders } = source;
    const record = await ensureModel(client, source.body, {
      knownFingerprint,
      fingerprint,
      onProgress: line.show,
      print: (text) => world.output.write(`${text}\n`),
      pause: (ms) => pause(ms, world.signal),
      onRequested: () => writeLocalSources(state, { ...sources, [name]: { fingerprint, folders: [...folders] } }),
    });
    line.end();
    if (record.data) world.output.write(`${summaryOf(record)}\n`);
    return record;
  } finally {
    line.end();
  }
}

async function showRankings(
  client: ServiceClient,
  source: LocalSource,
  {
    record,
    print,
    access,
  }: { readonly record: LocalRecord; readonly print: (line: string) => void; readonly access: FileAccess },
): Promise<void> {
  const wait = (ms: number) => pause(ms, access.signal);
  const user = await sampleUser(source, access);
  const name = source.body.model_name;
  const known = await callRank(client, rankExamples(name, user, {}).known, wait);
  const attributes = record.data?.item_attributes ?? [];
  const retrieval = await sampleFilter(source, { attributes, ids: known.ids }, access);
  const examples = rankExamples(name, user, retrieval);

  const titles = await titlesOf(source, user.latest, access);
  const latest = user.latest.map((id) => titles.get(id) ?? id).join(", ");
  const show = async (example: RankExample) => {
    const { ids, line, strategy } = await callRank(client, example, wait);
    print(`\n${example.title} (${strategy}):\n\n${line}\n\n${listText(ids, await titlesOf(source, ids, access))}`);
  };
  print(`\nThe latest items of user ${user.id}: ${latest || "none yet"}.`);
  for (const example of [examples.known, examples.session, examples.filtered]) await show(example);
}

/** Describes the training data, its warnings and the quality of the model, one sentence per line. */
export function summaryOf({ data, metrics, failure }: Pick<LocalRecord, "data" | "metrics" | "failure">): string {
  const count = (value: number) => value.toLocaleString("en-US");
  const [ndcg, baseline] = [metrics?.["ndcg@10"], metrics?.baseline["ndcg@10"]];
  const lines = [
    `Trained on ${count(data!.interactions)} interactions of ${count(data!.users)} users with ${count(data!.items)} items.`,
    ...data!.warnings.map(sentence), // among them the numbers of rejected rows
    typeof ndcg === "number" && baseline !== undefined
      ? `${metrics!.method}: NDCG@10 ${ndcg.toFixed(4)}, popularity ${baseline.toFixed(4)}, on held-out interactions.`
      : "",
    failure ? sentence(`The latest training changed nothing: ${failure.message}`) : "",
  ];
  return lines.filter((line) => line !== "").join("\n");
}

async function lockLocal(state: string) {
  try {
    return await lockState(state);
  } catch (cause) {
    if (!(cause instanceof StateLockedError)) throw cause;
    const holder = /process (\d+)/.exec(cause.message)?.[1];
    throw new LocalError(
      `Another npm start${holder ? ` (process ${holder})` : ""} uses ${state}: stop it, or choose another folder with --state DIR.`,
      { cause },
    );
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** Waits; throws the signal's reason if it is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
