import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { GivenColumns } from "../../shared/guess-columns.ts";
import { ModelName } from "../../shared/model-spec.ts";
import type { CommandLine, Given } from "../command-line.ts";
import { UsageError } from "../expected-error.ts";
import { isPattern } from "../read/connectors/file/local-table.ts";

export type GivenFiles = {
  readonly interactions: string; // absolute
  /** The orders whose lines the interactions are. */
  readonly orders?: string | undefined;
  readonly items: string | null;
  readonly users: string | null;
  /** Columns of the interactions. Those that are not given are guessed. */
  readonly columns: GivenColumns;
  /** How times are written, as for strptime; absent: it is found. */
  readonly timeFormat?: string | undefined;
  /** Types of events that are positive; absent: they are guessed. */
  readonly positive?: readonly string[] | undefined;
  /** The column of sessions; absent: only users may be sessions. */
  readonly session?: string | undefined;
};

export type StartOptions = {
  /** Null for the generated demo shop. */
  readonly files: GivenFiles | null;
  readonly model: string | null;
  /** 0 for any free port. */
  readonly edgePort: number;
  readonly trainerPort: number;
  readonly state: string; // absolute
  readonly exit: boolean;
  /** Whether simulated shoppers visit the demo shop. */
  readonly simulate: boolean;
};

const text = { type: "string" } as const;

export const START = {
  name: "start",
  does: "brings up the whole service on this machine, trains a model, and ranks with it",
  forms: [
    ["", "with a generated demo shop"],
    ["--data FILE", "with your interactions: CSV, TSV, Parquet, JSON or JSON Lines, also gzipped"],
  ],
  flags: {
    data: {
      ...{ ...text, value: "FILE" },
      help: "interactions: user, item, time, and optionally a label. A folder, or a pattern such as 'clicks/**/*.parquet', is one table of many files",
    },
    orders: {
      ...{ ...text, value: "FILE" },
      help: "orders with their customers and times, if --data has the lines of orders; the column of the order's id joins them",
    },
    items: { ...text, value: "FILE", help: "item attributes, for filters and better rankings" },
    users: { ...text, value: "FILE", help: "user attributes, for users without a history" },
    "user-column": {
      ...{ ...text, value: "NAME" },
      help: "column of the interactions with user ids. Columns that are not given are guessed, and the guess is printed. In a file without a header, give positions: --user-column 1",
    },
    "item-column": { ...text, value: "NAME", help: "column with item ids" },
    "time-column": { ...text, value: "NAME", help: "column with times" },
    "label-column": { ...text, value: "NAME", help: "column that says whether an interaction was wanted" },
    positive: {
      ...{ ...text, value: "TYPES" },
      help: "types of events that count as wanted, such as purchase,cart; others count as seen",
    },
    "session-column": { ...text, value: "NAME", help: "learn what comes next in a session" },
    "time-format": {
      ...{ ...text, value: "FORMAT" },
      help: "how times are written where day and month could be either, such as %d/%m/%Y",
    },
    model: { ...text, value: "NAME", help: "name of the model (the file name, or demo-shop)" },
    "edge-port": {
      ...{ ...text, value: "PORT", default: "8787" },
      help: "port of the edge, which answers rank calls (8787; 0 takes any free port)",
    },
    "trainer-port": {
      ...{ ...text, value: "PORT", default: "8788" },
      help: "port of the trainer (8788; 0 takes any free port)",
    },
    state: { ...text, value: "DIR", help: "folder for all state (.shortlist)" },
    simulate: {
      ...{ type: "boolean", default: false },
      help: "simulated shoppers visit the demo shop, in a folder of its own (.shortlist/simulated): to try experiments",
    },
    exit: { type: "boolean", default: false, help: "stop after printing the ranking, for scripts" },
  },
  exitCodes: { 130: "stopped by Ctrl-C" },
} as const satisfies CommandLine;

type Flags = Given<typeof START.flags>["flags"];

/**
 * What `npm start` is to do.
 *
 * @param cwd Base of relative paths: the folder from which npm was called.
 * @throws UsageError for a wrong flag or a missing file.
 */
export async function startOptions(flags: Flags, cwd: string): Promise<StartOptions> {
  for (const name of [
    "orders",
    "items",
    "users",
    "user-column",
    "item-column",
    "time-column",
    "label-column",
    "positive",
    "session-column",
    "time-format",
  ] as const)
    if (flags[name] !== undefined && flags.data === undefined)
      throw new UsageError(`--${name} describes your data, so it needs --data FILE.`);
  for (const name of ["data", "exit"] as const)
    if (flags.simulate && flags[name])
      throw new UsageError(`--simulate is for the demo shop, so it goes without --${name}.`);
  const model = ModelName.optional().safeParse(flags.model);
  if (!model.success) throw new UsageError(`--model ${model.error.issues[0]!.message}.`);
  return {
    files: flags.data === undefined ? null : await filesOf({ ...flags, data: flags.data }, cwd),
    model: flags.model ?? null,
    edgePort: portOf(flags, "edge-port"),
    trainerPort: portOf(flags, "trainer-port"),
    state: resolve(cwd, flags.state ?? (flags.simulate ? ".shortlist/simulated" : ".shortlist")),
    exit: flags.exit,
    simulate: flags.simulate,
  };
}

async function filesOf(flags: Flags & { readonly data: string }, cwd: string): Promise<GivenFiles> {
  const given = (role: "user" | "item" | "time" | "label") => ({ [role]: flags[`${role}-column`] });
  return {
    interactions: await fileOf("data", flags.data, cwd),
    orders: flags.orders === undefined ? undefined : await fileOf("orders", flags.orders, cwd),
    items: flags.items === undefined ? null : await fileOf("items", flags.items, cwd),
    users: flags.users === undefined ? null : await fileOf("users", flags.users, cwd),
    columns: { ...given("user"), ...given("item"), ...given("time"), ...given("label") },
    timeFormat: flags["time-format"],
    positive: flags.positive === undefined ? undefined : typesOf(flags.positive),
    session: flags["session-column"],
  };
}

function typesOf(given: string): string[] {
  const types = [...new Set(given.split(",").map((type) => type.trim()))].filter((type) => type !== "");
  if (types.length === 0) throw new UsageError("--positive needs types of events, such as --positive purchase,cart.");
  return types;
}

async function fileOf(flag: string, given: string, cwd: string): Promise<string> {
  const path = resolve(cwd, given);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined ? !isPattern(path) : !found.isFile() && !found.isDirectory())
    throw new UsageError(`--${flag}: there is no file ${path}.`);
  return path;
}

function portOf(flags: Flags, name: "edge-port" | "trainer-port"): number {
  const port = Number(flags[name]);
  if (/^\d{1,5}$/.test(flags[name]) && port <= 65_535) return port;
  throw new UsageError(`--${name} must be a port from 0 to 65535; ${JSON.stringify(flags[name])} is not.`);
}
