import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Scope } from "../../shared/key-record.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { lockState } from "../manage/state-lock.ts";
import { readKeySettings } from "../settings.ts";
import { issueKey } from "../store/key-store.ts";
import { s3Store } from "../store/s3-store.ts";
import type { Terminal } from "../terminal.ts";
import { writeDemoShop } from "./demo-shop.ts";
import { ensureModel } from "./ensure-model.ts";
import { LocalError, sentence } from "./local-error.ts";
import { type LocalServices, startServices } from "./local-services.ts";
import { describeFiles, type LocalSource } from "./local-source.ts";
import { LOCAL_CUSTOMER, readLocalService, writeLocalService } from "./local-state.ts";
import { callService, type Service } from "./service-client.ts";
import { showEvent } from "./show-event.ts";
import { showRankings } from "./show-rankings.ts";
import { ensureFirstVersion, putScenarios, simulate } from "./simulate.ts";
import type { StartOptions } from "./start-flags.ts";

export type LocalWorld = Terminal & {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
};

const STOP_GRACE_MS = 20_000;

/**
 * Runs `npm start`: data → services → API key → model → example rankings. It then stays up until the signal is aborted,
 * or returns after printing with `--exit`. No process is left running in any case.
 */
export async function runLocal(options: StartOptions, world: LocalWorld): Promise<void> {
  const { state } = options;
  const { print, signal, environment } = world;
  await mkdir(state, { recursive: true, mode: 0o700 });
  const lock = await lockState(state);
  const tempDirectory = join(state, "temp");
  let services: LocalServices | undefined;
  try {
    await mkdir(tempDirectory, { recursive: true });
    const files = options.files ?? {
      ...(await writeDemoShop(join(state, "data/demo-shop"))),
      users: null,
      columns: {},
    };
    const model = options.model ?? (options.files === null ? "demo-shop" : null);
    const source = await describeFiles(files, { model, tempDirectory, signal });
    if (options.files !== null) print(source.findings);

    print("Starting the edge and the trainer.");
    services = await startServices({ ...options, folders: source.folders, environment });
    const service = await Promise.race([services.failed, useServices(services, { options, source, world })]);
    if (options.exit) return;
    print(`\nUp until Ctrl-C. The edge is ${services.edgeUrl}, the trainer ${services.trainerUrl}.`);
    const untilStopped = async () => signal.aborted || (await once(signal, "abort"));
    const traffic = options.simulate ? showTraffic(service, source.body.model_name, print) : untilStopped();
    await Promise.race([services.failed, traffic]);
  } finally {
    await services?.stop(STOP_GRACE_MS);
    await rm(tempDirectory, { recursive: true, force: true });
    lock.release();
  }
}

type Use = { readonly options: StartOptions; readonly source: LocalSource; readonly world: LocalWorld };

/** Issues the key, writes local.json, trains the model and prints example rankings. */
async function useServices(services: LocalServices, { options, source, world }: Use): Promise<Service> {
  const { print, signal } = world;
  const { state } = options;
  const { edgeUrl, trainerUrl } = services;
  const knownKey = (await readLocalService(state))?.api_key;
  const apiKey = await ensureLocalKey(edgeUrl, knownKey, signal);
  const urls = { edge_url: edgeUrl, trainer_url: trainerUrl };
  await writeLocalService(state, { ...urls, api_key: apiKey, model_name: source.body.model_name });

  const service = { edgeUrl, apiKey, signal };
  print(`Watch it in the console: ${consoleAddress(service, "/")}`);
  if (options.simulate) await ensureFirstVersion(service, source, world);
  const record = await ensureModel(service, source, world);
  if (record.data) print(summaryOf(record));
  const user = await showExamples(service, source, { record, print }).catch((error: unknown) => {
    if (options.exit || !(error instanceof LocalError)) throw error;
    print(`\nAn example could not be shown: ${error.message}`); // the model is trained, so the service stays up
    return undefined;
  });
  print(
    `\nTry it in the console: ${consoleAddress(service, `/models/${record.model_name}/try`, user ? { user } : {})}`,
  );
  return service;
}

/** Simulates shoppers until Ctrl-C, and says what may be compared. */
async function showTraffic(service: Service, model: string, print: (line: string) => void): Promise<void> {
  const scenarios = await putScenarios(service, model);
  print(`Simulated shoppers visit the shop. Compare its two versions, or the scenarios ${scenarios.join(" and ")}:`);
  print(`${consoleAddress(service, `/models/${model}/experiment`)}\n`);
  await simulate(service, { model, print });
}

type Shown = { readonly record: ModelRecord; readonly print: (line: string) => void };

/** Prints example rankings and the effect of an event. Returns the user of the examples, if there is one. */
async function showExamples(
  service: Service,
  source: LocalSource,
  { record, print }: Shown,
): Promise<string | undefined> {
  const user = await showRankings(service, source, { attributes: record.data?.item_attributes ?? [], print });
  await showEvent(service, source, { visitor: `visitor-${Date.now().toString(36)}`, print });
  return user;
}

/** The address of a page of the console. The key follows `#`, so the browser sends it to nobody; the console removes it. */
const consoleAddress = ({ edgeUrl, apiKey }: { edgeUrl: string; apiKey: string }, page: string, query: object = {}) =>
  `${edgeUrl}/#${page}?${new URLSearchParams({ ...query, key: apiKey })}`;

/** Returns the known API key if the edge accepts it, else issues one for the customer `local` with all scopes. */
async function ensureLocalKey(edgeUrl: string, apiKey: string | undefined, signal: AbortSignal): Promise<string> {
  // The edge answers 400, since there are no events, only if the key is valid for events. Keys of older releases are not.
  const answer = apiKey && (await callService({ edgeUrl, apiKey, signal }, "POST", "/v0/events", { events: [] }));
  if (answer && answer.status === 400) return apiKey;
  const store = s3Store({ ...readKeySettings({ SHORTLIST_EDGE_URL: edgeUrl }).store, signal });
  const request = { customer: LOCAL_CUSTOMER, scopes: Scope.options, expiresAtMs: null };
  return (await issueKey(store, { ...request, nowMs: Date.now(), random: randomBytes })).key;
}

/** Describes the training data, its warnings and the quality of the model, one sentence per line. */
export function summaryOf({ data, metrics, failure }: Pick<ModelRecord, "data" | "metrics" | "failure">): string {
  const count = (value: number) => value.toLocaleString("en-US");
  const [ndcg, baseline] = [metrics?.["ndcg@10"], metrics?.baseline["ndcg@10"]];
  const lines = [
    `Trained on ${count(data!.interactions)} interactions of ${count(data!.users)} users with ${count(data!.items)} items.`,
    data!.events ? eventsLine(count(data!.events)) : "",
    ...data!.warnings.map(sentence), // among them the numbers of rejected rows
    typeof ndcg === "number" && baseline !== undefined
      ? `${metrics!.method}: NDCG@10 ${ndcg.toFixed(4)}, popularity ${baseline.toFixed(4)}, on held-out interactions.`
      : "",
    failure ? sentence(`The latest training changed nothing: ${failure.message}`) : "",
  ];
  return lines.filter((line) => line !== "").join("\n");
}

const eventsLine = (count: string) =>
  `Live events that were sent to this state folder: ${count}. All of its models learn from them; another --state folder keeps a shop apart.`;
