import { resolve } from "node:path";
import * as z from "zod";
import { CustomerId, type KeyRecord, Scope } from "../../shared/key-record.ts";
import { type CommandLine, type Given, helpText, type Result } from "../command-line.ts";
import { UsageError } from "../expected-error.ts";
import { LocalError } from "../local/local-error.ts";
import { readLocalService } from "../local/local-state.ts";
import { readServeSettings } from "../serve/serve-settings.ts";
import { bucketOf } from "../serve/service-parts.ts";
import { type Environment, readGrants, readKeySettings, secretPrefixOf } from "../settings.ts";
import {
  issueKey,
  type KeyRequest,
  listCustomers,
  listKeys,
  readCustomer,
  revokeKey,
  writeCustomer,
} from "../store/key-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { bigqueryGrants, type GrantPlace, postgresGrants } from "./keys-grants.ts";

export type KeysWorld = {
  readonly environment: Environment;
  readonly nowMs: number;
  readonly random: (count: number) => Uint8Array;
};

/** They allow all calls: manage includes items, a scope that a Worker of an earlier release would refuse. */
const DEFAULT_SCOPES: readonly Scope[] = ["rank", "events", "manage"];

const text = { type: "string" } as const;
export const KEYS = {
  name: "keys",
  does: "issues, lists and revokes API keys",
  forms: [
    ["issue --customer NAME", "prints a new key, and the grants that the customer's stores need"],
    ["list [--customer NAME]", "all keys, without the secrets"],
    ["revoke --key-id ID", "every edge refuses the key within a minute"],
  ],
  flags: {
    customer: { ...text, value: "NAME", help: "the customer that the key belongs to: a-z 0-9 -" },
    scopes: {
      ...{ ...text, value: "LIST" },
      help: "any of rank, events, items and manage, which includes items (rank,events,manage when not given; rank,events with --origins)",
    },
    expires: { ...text, value: "TIME", help: "days (90d), hours (12h) or a date (2027-01-31); never when not given" },
    origins: { ...text, value: "LIST", help: "a key for web pages of these origins, such as https://shop.example" },
    "sign-users": {
      ...{ type: "boolean", default: false },
      help: "the web pages must send each user id with a signature by your servers",
    },
    "service-account": {
      ...{ ...text, value: "EMAIL" },
      help: "the identity that reads this customer's warehouse; stored for later keys",
    },
    project: { ...text, value: "ID", help: "the customer's BigQuery project, for the commands that grant access" },
    dataset: { ...text, value: "NAME", help: "the customer's BigQuery dataset, for the same commands" },
    "key-id": { ...text, value: "ID", help: "the key to revoke, as printed by list" },
    dir: { ...{ ...text, value: "DIR" }, help: "the service of npm run serve in that folder" },
    state: {
      ...{ ...text, value: "DIR" },
      help: "the local service of npm start with that state folder (usually .shortlist); without both, the bucket of the variables SHORTLIST_S3_… (or .env)",
    },
    json: { type: "boolean", default: false, help: "one JSON object or array, for scripts" },
  },
  takesWords: true,
} as const satisfies CommandLine;

type Flags = Given<typeof KEYS.flags>["flags"];
type Operator = {
  readonly store: ObjectStore;
  readonly egressAddresses: readonly string[];
  readonly serviceAccount: (customer: string) => string | null;
};

/** Throws UsageError, LocalError, StoreError or SettingsError with one sentence. */
export async function runKeysCommand({ flags, words }: Given<typeof KEYS.flags>, world: KeysWorld): Promise<Result> {
  const [command, ...rest] = words;
  if (command === undefined) throw new UsageError(helpText(KEYS));
  if (rest.length > 0) throw new UsageError(`Unexpected argument ${JSON.stringify(rest[0])}. See --help.`);
  const commands = { issue, list, revoke };
  if (!Object.hasOwn(commands, command))
    throw new UsageError(`There is no command ${JSON.stringify(command)}: use issue, list or revoke.`);
  return await commands[command as keyof typeof commands](flags, world);
}

async function issue(flags: Flags, world: KeysWorld): Promise<Result> {
  const customer = customerOf(flags, "issue");
  const webPages = webPagesOf(flags);
  const scopes = scopesOf(flags, webPages !== undefined);
  const expiresAtMs = flags.expires === undefined ? null : expiryOf(flags.expires, world.nowMs);
  const email = flags["service-account"];
  if (email !== undefined && !z.email().safeParse(email).success)
    throw new UsageError(`--service-account must be an e-mail address, found ${JSON.stringify(email)}.`);
  const named = placeOf(flags);

  const { store, egressAddresses, serviceAccount } = await operatorOf(flags, world.environment);
  if (email !== undefined) await storeAccount(store, { customer, email, configuredOf: serviceAccount });
  // A run uses the settings before the stored account too.
  const account = serviceAccount(customer) ?? (await readCustomer(store, customer))?.service_account ?? null;
  const request = { customer, scopes, expiresAtMs, webPages, nowMs: world.nowMs, random: world.random };
  const { key, record } = await issueKey(store, request);
  const json = { api_key: key, ...record, service_account: account, egress_addresses: egressAddresses };
  const text = `The API key of ${customer}, shown only now and stored nowhere:

    ${key}

  key id            ${record.key_id}
  scopes            ${record.scopes.join(", ")}
  expires           ${record.expires_at ?? "never"}${webPagesText(record)}
  service account   ${account ?? "none: --service-account names the identity that reads this customer's warehouse"}
  egress addresses  ${egressAddresses.join(", ") || "none are set: SHORTLIST_EGRESS_ADDRESSES names them"}

${sourcesText(customer, account, { ...named, egressAddresses })}`;
  return { text, json };
}

function scopesOf({ scopes }: Flags, isForWebPages: boolean): readonly Scope[] {
  if (scopes === undefined) return isForWebPages ? ["rank", "events"] : DEFAULT_SCOPES;
  const names = scopes.split(",").map((scope) => scope.trim());
  const unknown = names.find((scope) => !Scope.safeParse(scope).success);
  if (unknown !== undefined)
    throw new UsageError(`There is no scope ${JSON.stringify(unknown)}: use ${Scope.options.join(", ")}.`);
  const secret = names.find((scope) => scope === "manage" || scope === "items");
  if (isForWebPages && secret !== undefined)
    throw new UsageError(`A key with --origins may not have the scope ${secret}: everybody can read it in the page.`);
  return names as Scope[];
}

function webPagesOf(flags: Flags): KeyRequest["webPages"] {
  if (flags.origins === undefined && flags["sign-users"])
    throw new UsageError("--sign-users needs --origins: other keys are secret, so their users need no signature.");
  if (flags.origins === undefined) return undefined;
  const origins = flags.origins.split(",").map((origin) => origin.trim());
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong !== undefined)
    throw new UsageError(`--origins must be like https://shop.example, found ${JSON.stringify(wrong)}.`);
  return { origins, signsUsers: flags["sign-users"] };
}

const webPagesText = ({ origins, user_secret }: KeyRecord) =>
  [
    origins ? `\n  origins           ${origins.join(", ")}; CORS_ORIGINS of the edge must have them too` : "",
    user_secret
      ? `\n  user secret       ${user_secret}\n                    shown only now: your servers sign user ids with it`
      : "",
  ].join("");

/** A record as it may be shown again. */
const withoutSecret = ({ user_secret: _, ...record }: KeyRecord) => record;

/** The grants that the customer's sources need before a model can read them. */
function sourcesText(customer: string, account: string | null, place: GrantPlace): string {
  const prefix = secretPrefixOf(customer);
  const postgres = prefix === undefined ? "" : postgresGrants(`${prefix}DB`, place);
  return [account === null ? "" : bigqueryGrants(account, place), postgres].filter(Boolean).join("\n\n");
}

function placeOf({ project, dataset }: Flags): Pick<GrantPlace, "project" | "dataset"> {
  // The names become parts of commands that somebody pastes into a shell.
  if (project !== undefined && !/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(project))
    throw new UsageError(`--project must be a project id such as my-shop-123, found ${JSON.stringify(project)}.`);
  if (dataset !== undefined && !/^\w{1,1024}$/.test(dataset))
    throw new UsageError(`--dataset must consist of letters, digits and _, found ${JSON.stringify(dataset)}.`);
  return { project, dataset };
}

type AccountToStore = {
  readonly customer: string;
  readonly email: string;
  /** The account in the settings, which takes precedence over the stored one. */
  readonly configuredOf: (customer: string) => string | null;
};

/** Stores the account for the customer. Two customers cannot share one, or each could read what the other has granted. */
async function storeAccount(store: ObjectStore, { customer, email, configuredOf }: AccountToStore): Promise<void> {
  const configured = configuredOf(customer);
  if (configured !== null && configured !== email)
    throw new LocalError(`SHORTLIST_SERVICE_ACCOUNTS sets ${configured} for ${customer}: change it there.`);
  for (const other of await listCustomers(store)) {
    if (other === customer) continue;
    const theirs = configuredOf(other) ?? (await readCustomer(store, other))?.service_account;
    if (theirs !== email) continue;
    throw new LocalError(
      `${email} belongs to ${other}: create another account for ${customer}, or each could read what the other grants.`,
    );
  }
  await writeCustomer(store, { format: 1, customer, service_account: email });
}

async function list(flags: Flags, world: KeysWorld): Promise<Result> {
  const { store } = await operatorOf(flags, world.environment);
  const customers = flags.customer === undefined ? await listCustomers(store) : [customerOf(flags, "list")];
  const records = (await Promise.all(customers.map((customer) => listKeys(store, customer)))).flat();
  const json = records.map(withoutSecret);
  if (records.length === 0) return { text: "No keys have been issued.", json };
  const rows = records.map((record) => [
    record.key_id,
    record.customer,
    record.scopes.join(","),
    stateOf(record, world.nowMs),
    record.created_at,
  ]);
  return { text: table([["key id", "customer", "scopes", "state", "created"], ...rows]), json };
}

async function revoke(flags: Flags, world: KeysWorld): Promise<Result> {
  const keyId = flags["key-id"];
  if (keyId === undefined || !/^[a-z0-9]{8,20}$/.test(keyId))
    throw new UsageError("revoke needs --key-id ID, as printed by the command list.");
  const { store } = await operatorOf(flags, world.environment);
  const record = await revokeKey(store, { keyId, nowMs: world.nowMs });
  if (record === undefined) throw new LocalError(`There is no key with the id ${JSON.stringify(keyId)}.`);
  return {
    text: `The key ${keyId} of ${record.customer} was revoked at ${record.revoked_at}. Every edge refuses it within a minute.`,
    json: withoutSecret(record),
  };
}

async function operatorOf(flags: Flags, environment: Environment): Promise<Operator> {
  if (flags.dir !== undefined) return await serviceOperator(resolve(environment.INIT_CWD ?? ".", flags.dir));
  const local = flags.state === undefined ? environment : await localEnvironment(flags.state);
  const { store, egressAddresses, serviceAccountOf } = readKeySettings(local);
  return { store: s3Store(store), egressAddresses, serviceAccount: serviceAccountOf };
}

/** The bucket and the grants of a service, which may run meanwhile: nothing else writes keys. */
async function serviceOperator(dir: string): Promise<Operator> {
  const settings = await readServeSettings(dir);
  const variables = Object.entries(settings.environment).map(([name, value]) => [name, String(value)]);
  const { egressAddresses, serviceAccountOf } = readGrants(Object.fromEntries(variables));
  return { store: bucketOf(dir, settings), egressAddresses, serviceAccount: serviceAccountOf };
}

/** The bucket of the service that `npm start` runs with a state folder. */
async function localEnvironment(state: string): Promise<Environment> {
  const service = await readLocalService(state);
  if (!service)
    throw new LocalError(`No service has been started with the state folder ${state}: run npm start first.`);
  const live = fetch(new URL("/health/live", service.edge_url), { signal: AbortSignal.timeout(5000) });
  if (
    await live.then(
      () => false,
      () => true,
    )
  )
    throw new LocalError("The local bucket is part of the edge, which is not running: run npm start first.");
  return { SHORTLIST_EDGE_URL: service.edge_url };
}

function customerOf(flags: Flags, command: string): string {
  if (flags.customer === undefined) throw new UsageError(`${command} needs --customer NAME.`);
  if (CustomerId.safeParse(flags.customer).success) return flags.customer;
  throw new UsageError(`--customer must consist of a-z 0-9 and -, found ${JSON.stringify(flags.customer)}.`);
}

/** Parses `90d`, `12h`, or an ISO 8601 date or time. */
function expiryOf(text: string, nowMs: number): number {
  const [, count, unit] = /^(\d{1,6})([dh])$/.exec(text) ?? [];
  const atMs = count === undefined ? Date.parse(text) : nowMs + Number(count) * (unit === "d" ? 86_400_000 : 3_600_000);
  if (Number.isNaN(atMs) || (count === undefined && !/^\d{4}-/.test(text)))
    throw new UsageError(`--expires must be like 90d, 12h or 2027-01-31, found ${JSON.stringify(text)}.`);
  if (atMs <= nowMs) throw new UsageError(`--expires ${text} is not in the future.`);
  return atMs;
}

function stateOf(record: KeyRecord, nowMs: number): string {
  if (record.revoked_at !== null) return `revoked ${record.revoked_at}`;
  if (record.expires_at === null) return "valid";
  return `${Date.parse(record.expires_at) <= nowMs ? "expired" : "valid until"} ${record.expires_at}`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
