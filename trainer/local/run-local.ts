import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { lockState, StateLockedError } from "../manage/state-lock.ts";
import { s3Store } from "../store/s3-store.ts";
import { demoFiles } from "./demo-files.ts";
import { ensureModel, type LocalRecord } from "./ensure-model.ts";
import { LocalError, sentence } from "./local-error.ts";
import { ensureLocalKey } from "./local-key.ts";
import { type LocalServices, startServices } from "./local-services.ts";
import { describeFiles, type LocalSource, type Look } from "./local-source.ts";
import {
  ensureLocalSecrets,
  localS3,
  readLocalSources,
  writeLocalSecrets,
  writeLocalService,
  writeLocalSources,
} from "./local-state.ts";
import { type ProgressOutput, progressLine } from "./progress-line.ts";
import { sampleFilter, sampleUser, titlesOf } from "./sample-user.ts";
import { type ServiceClient, serviceClient } from "./service-client.ts";
import { askRank, listText, type RankExample, rankExamples } from "./show-ranking.ts";
import type { StartOptions } from "./start-flags.ts";

export type LocalWorld = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly output: ProgressOutput;
  readonly nowMs: () => number;
  /** Aborted when the person wants to stop. */
  readonly signal: AbortSignal;
};

const STOP_GRACE_MS = 20_000;

/**
 * The whole of `npm start`: data → services → key → model → ranking; then up until the signal, or until it is printed.
 * Whatever happens, nothing is left running.
 */
export async function runLocal(options: StartOptions, world: LocalWorld): Promise<void> {
  const say = (line: string) => world.output.write(`${line}\n`);
  await mkdir(options.state, { recursive: true, mode: 0o700 });
  const lock = await lockLocal(options.state);
  let services: LocalServices | undefined;
  try {
    const look = { tempDirectory: join(options.state, "temp"), signal: world.signal };
    await mkdir(look.tempDirectory, { recursive: true });
    const files = options.files ?? (await demoFiles(join(options.state, "data")));
    const model = options.model ?? (options.files === null ? "demo-shop" : null);
    const source = await describeFiles(files, { model, ...look });
    if (options.files !== null) say(["The columns:", ...source.findings].join("\n  "));

    services = await startAll(options, source, world);
    await Promise.race([services.failed, useServices(services, { options, source, world, look })]);
    if (options.exit) return;
    say(`\nUp until Ctrl-C. The edge is ${services.edgeUrl}, the trainer ${services.trainerUrl}.`);
    await Promise.race([services.failed, aborted(world.signal)]);
  } finally {
    await services?.stop(STOP_GRACE_MS);
    await rm(join(options.state, "temp"), { recursive: true, force: true });
    lock.release();
  }
}

/** Starts both parts; they may read the folders of every model that has ever been made here. */
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
  readonly look: Omit<Look, "folders">;
};

/** Key, model, ranking, local.json. */
async function useServices(services: LocalServices, { options, source, world, look }: LocalContext): Promise<void> {
  const { state } = options;
  const say = (line: string) => world.output.write(`${line}\n`);
  const secrets = await ensureLocalSecrets(state);
  const store = s3Store({ ...localS3(services.edgeUrl, secrets), signal: world.signal });
  const apiKey = await ensureLocalKey(store, { apiKey: secrets.api_key, nowMs: world.nowMs() });
  await writeLocalSecrets(state, { ...secrets, api_key: apiKey });

  const client = serviceClient(services.edgeUrl, apiKey, world.signal);
  const name = source.body.model_name;
  const record = await trained(client, source, { state, world });
  await showRankings(client, source, { record, say, look: { ...look, folders: source.folders } });
  await writeLocalService(state, {
    edge_url: services.edgeUrl,
    trainer_url: services.trainerUrl,
    api_key: apiKey,
    model_name: name,
  });
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
    const known = sources[name]?.fingerprint;
    const { fingerprint, folders } = source;
    const record = await ensureModel(client, source.body, {
      known,
      fingerprint,
      onProgress: line.show,
      say: (text) => world.output.write(`${text}\n`),
      pause: (ms) => pause(ms, world.signal),
      onAsked: () => writeLocalSources(state, { ...sources, [name]: { fingerprint, folders: [...folders] } }),
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
  { record, say, look }: { readonly record: LocalRecord; readonly say: (line: string) => void; readonly look: Look },
): Promise<void> {
  const wait = (ms: number) => pause(ms, look.signal);
  const user = await sampleUser(source, look);
  const name = source.body.model_name;
  const known = await askRank(client, rankExamples(name, user, {}).known, wait);
  const attributes = record.data?.item_attributes ?? [];
  const retrieval = await sampleFilter(source, { attributes, ids: known.ids }, look);
  const examples = rankExamples(name, user, retrieval);

  const titles = await titlesOf(source, user.latest, look);
  const latest = user.latest.map((id) => titles.get(id) ?? id).join(", ");
  const show = async (example: RankExample) => {
    const { ids, line, strategy } = await askRank(client, example, wait);
    say(`\n${example.title} (${strategy}):\n\n${line}\n\n${listText(ids, await titlesOf(source, ids, look))}`);
  };
  say(`\nThe latest that user ${user.id} chose: ${latest || "nothing yet"}.`);
  for (const example of [examples.known, examples.session, examples.filtered]) await show(example);
}

/** What was learnt from, what is to be known of it, and how good it is: one sentence a line. */
export function summaryOf({ data, metrics, failure }: Pick<LocalRecord, "data" | "metrics" | "failure">): string {
  const count = (value: number) => value.toLocaleString("en-US");
  const [ndcg, baseline] = [metrics?.["ndcg@10"], metrics?.baseline["ndcg@10"]];
  const lines = [
    `Learnt from ${count(data!.interactions)} interactions of ${count(data!.users)} users with ${count(data!.items)} items.`,
    ...data!.warnings.map(sentence), // rejected rows among them
    typeof ndcg === "number" && baseline !== undefined
      ? `${metrics!.method}: NDCG@10 ${ndcg.toFixed(4)}, popularity ${baseline.toFixed(4)}, on interactions it had not seen.`
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

/** Ends early, by throwing, when the person wants to stop. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal.throwIfAborted();
}
