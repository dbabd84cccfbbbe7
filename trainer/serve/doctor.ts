/** `npm run doctor`: looks at a service of `npm run serve`, or at a trainer with the variables of its environment. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { styleText } from "node:util";
import * as z from "zod";
import type { Finding } from "../../shared/health.ts";
import { type CommandLine, type Result, runCommand } from "../command-line.ts";
import {
  type Check,
  checkDisk,
  checkFolders,
  checkHealth,
  checkMemory,
  checkNode,
  checkVersion,
  runChecks,
} from "../manage/health/checks.ts";
import { checkCertificate, checkConditions, checkKeys } from "../manage/health/expiry-checks.ts";
import { bucketChecks, operatorChecks } from "../manage/health/operator-checks.ts";
import { lockState, StateLockedError } from "../manage/state-lock.ts";
import { readSettings } from "../settings.ts";
import { checkModels, checkPort, checkSecrets, checkVersions } from "./checks.ts";
import { placesIn, readServeSettings, type ServeSettings } from "./serve-settings.ts";
import { bucketAccess, bucketOf, trainerUrlOf } from "./service-parts.ts";

const DOCTOR = {
  name: "doctor",
  does: "looks for what is wrong, and says what to do about it",
  forms: [
    ["--dir DIR", "a service of npm run serve"],
    ["", "a trainer, by the variables of its environment (or .env)"],
  ],
  flags: {
    dir: { type: "string", value: "DIR", help: "the folder of the service" },
    json: { type: "boolean", default: false, help: "the findings as JSON" },
  },
  exitCodes: { 0: "nothing is broken", 1: "something is" },
} as const satisfies CommandLine;

const DEFAULTS = { memoryMb: 4096, reserveBytes: 2e9, backupHours: 24 };
const Local = z.object({ edge_url: z.url(), api_key: z.string() });

async function examine(dir: string | undefined): Promise<Result> {
  const base = process.env.INIT_CWD ?? process.cwd();
  const found = await runChecks(dir === undefined ? checksOfTrainer() : await checksOfService(resolve(base, dir)));
  const exitCode = found.some(({ state }) => state === "fault") ? 1 : 0;
  return { text: found.map(lineOf).join("\n"), json: found, exitCode };
}

const MARKS = { ok: ["green", "ok     "], warning: ["yellow", "warning"], fault: ["red", "FAULT  "] } as const;
/** Coloured on a terminal, unless NO_COLOR is set. */
const mark = (state: Finding["state"]) => styleText(MARKS[state][0], MARKS[state][1], { stream: process.stdout });
const lineOf = ({ state, name, finding, remedy }: Finding) =>
  `${mark(state)}  ${name}: ${finding}${remedy ? `\n         → ${remedy}` : ""}`;

function checksOfTrainer(): Check[] {
  const settings = readSettings();
  const { store, edgeUrl, host, port } = settings;
  const trainer = `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  const apiKey = process.env.SHORTLIST_API_KEY;
  return [
    ...operatorChecks(settings, Date.now),
    checkConditions(store),
    checkHealth("trainer", trainer),
    checkVersions({ edge: edgeUrl, trainer }),
    ...(apiKey ? [checkModels({ edgeUrl, apiKey, keyPlace: "SHORTLIST_API_KEY" }, Date.now)] : []),
  ];
}

async function checksOfService(dir: string): Promise<Check[]> {
  const settings = await readServeSettings(dir);
  const places = placesIn(dir);
  const isRunning = await lockState(places.run).then(
    (lock) => lock.release(),
    (error: unknown) => error instanceof StateLockedError,
  );
  const { environment } = settings;
  const checks = [
    checkVersion,
    checkNode,
    checkMemory(Number(environment.SHORTLIST_RUN_MEMORY_MB ?? DEFAULTS.memoryMb)),
    checkDisk(dir, Number(environment.SHORTLIST_DISK_RESERVE_BYTES ?? DEFAULTS.reserveBytes)),
    checkSecrets(places.settings),
    checkFolders(settings.data_roots),
    checkPort(settings.port, isRunning === true),
    ...checksOfBucket(dir, settings),
  ];
  if (isRunning !== true) return [...checks, { name: "service", run: async () => NOT_RUNNING }];
  const trainer = await trainerUrlOf(dir);
  const here = `http://127.0.0.1:${settings.port}`;
  const local = Local.parse(JSON.parse(await readFile(places.local, "utf8")));
  return [
    ...checks,
    checkHealth("trainer", trainer),
    checkHealth("edge", here),
    checkVersions({ edge: here, trainer }),
    ...(local.edge_url === here ? [] : publicChecks(local.edge_url)),
    checkModels({ edgeUrl: here, apiKey: local.api_key, keyPlace: "local.json" }, Date.now),
  ];
}

const publicChecks = (url: string) => [checkHealth("public address", url), checkCertificate(url, Date.now)];

const NOT_RUNNING = { state: "warning", finding: "does not run", remedy: "npm run serve -- --dir DIR" } as const;

/** Objects on the disk have neither credentials nor a clock of their own. */
function checksOfBucket(dir: string, settings: ServeSettings): Check[] {
  const access = bucketAccess(settings);
  if (access === undefined) return [checkKeys(bucketOf(dir, settings), Date.now)];
  const hours = Number(settings.environment.SHORTLIST_BACKUP_HOURS ?? DEFAULTS.backupHours);
  return [...bucketChecks(access, hours, Date.now), checkConditions(access)];
}

await runCommand(DOCTOR, ({ flags }) => examine(flags.dir));
