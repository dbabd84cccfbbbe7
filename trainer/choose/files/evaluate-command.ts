/** What `npm run evaluate` does: measures how well the models of this trainer rank the interactions of two files. */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { POPULARITY } from "../../../shared/manifest.ts";
import { parseScenario, type Scenario } from "../../../shared/scenario.ts";
import { METHODS } from "../../learn/methods.ts";
import type { Method } from "../../learn/model.ts";
import { scenarioText } from "../scenarios/scenario-text.ts";
import { evaluateFiles, type FileEvaluation } from "./evaluate-files.ts";
import { FileError, readFiles } from "./read-files.ts";

/** Two thirds of the machine's memory, at most 8 GB, which is more than a service that trains many models gives to one fit. */
const DEFAULT_MEMORY_MB = Math.round(Math.min(8000, (totalmem() / 2 ** 20) * (2 / 3)));

const USAGE = `npm run evaluate -- --train FILE --test FILE [options]

Fits models on the train file only, ranks all items of both files for every user of the test file, and prints how good
the lists are. Files: CSV or TSV with a header line, Parquet, JSON or JSON Lines, optionally gzipped, read as a training reads
them; or without a header (.txt) lines of whole numbers: the id of a user, then the ids of that user's items.

  --user-column NAME  --item-column NAME  --time-column NAME   guessed from common names when not given; without a header: positions
                        from 1;
                        --time-column none: the rows of a user are in the order of the file
  --users FILE          users' attributes, one row a user, the same name of the id column: lists of test users without train rows
                        are made from them where the train file shows that it helps, and the figures say by how much
  --items FILE          items' attributes, one row an item, the same name of the id column: similar items are learnt from them too,
                        and items without train rows have one place in ten
  --scenario FILE       JSON with the fields of a scenario (limit, retrieval, boosts, diversity, …): the figures of the chosen model's
                        lists with and without it, and a plot of NDCG against coverage for diversity from 0 to 1
  --label-column NAME   rows count as positive where it is true or above 0; without it every row does
  --positive TYPES      rows count as positive where the label column is one of these types of events, such as purchase,cart
  --protocol set|next-item|sessions   (set)
        set        the test rows of a user are a set to be found
        next-item  the test rows come after the train rows, whose order in time is the history
        sessions   test users are whole new sessions; every prefix predicts the next item
                   (rows that are not positive by --label-column are neither prefix nor to be found)
  --models auto|all|NAME,…   (auto) the method chosen within the train file; every method; or these. A method that does not fit into
                        the seconds or the memory is printed with the reason, in the JSON as not_measured
  --at K,…              (10,20) cut-offs
  --seconds N           (900) for choosing and fitting, all models together
  --memory-mb N         (two thirds of this machine's, at most 8000) for a fit
  --weight-mb N         (48) weights that the served model may have
  --seed N              (1)
  --include-seen        do not leave out items of the user's train rows
  --json                one JSON object on standard output; everything else goes to standard error
`;

const OPTIONS = {
  train: { type: "string" },
  test: { type: "string" },
  users: { type: "string" },
  items: { type: "string" },
  scenario: { type: "string" },
  "user-column": { type: "string" },
  "item-column": { type: "string" },
  "time-column": { type: "string" },
  "label-column": { type: "string" },
  positive: { type: "string" },
  protocol: { type: "string", default: "set" },
  models: { type: "string", default: "auto" },
  at: { type: "string", default: "10,20" },
  seconds: { type: "string", default: "900" },
  "memory-mb": { type: "string", default: String(DEFAULT_MEMORY_MB) },
  "weight-mb": { type: "string", default: "48" },
  seed: { type: "string", default: "1" },
  "include-seen": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const PROTOCOLS = ["set", "next-item", "sessions"] as const;

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export type EvaluateWorld = {
  /** Stops the evaluation. */
  readonly signal: AbortSignal;
  /** A line about progress, or a warning. */
  readonly log: (line: string) => void;
};

/** Runs the command line and returns what it prints. Throws an error for which `isUsersFault` is true where its sentence says enough. */
export async function runEvaluateCommand(
  args: readonly string[],
  { signal, log: write }: EvaluateWorld,
): Promise<string> {
  const options = parse(args);
  if (options === "help") return USAGE;
  const { files, json, scenarioFile, ...evaluation } = options;
  const scenario = scenarioFile === undefined ? undefined : readScenarioFile(scenarioFile);
  const begin = performance.now();
  const clock = () => (performance.now() - begin) / 1000;
  const log = (line: string) => write(`${clock().toFixed(0).padStart(5)} s  ${line}`);

  const data = await readFiles(files, signal);
  for (const warning of data.warnings) log(`warning: ${warning}`);
  const { user, item, time, label } = data.columns;
  log(`columns: user ${user}, item ${item}, time ${time ?? "none"}, label ${label ?? "none"}`);
  log(`train ${data.train.items.length} rows, test ${data.test.items.length}, rejected ${data.rejectedRows}`);
  const withScenario = scenario && { scenario, itemIdColumn: item };
  const result = await evaluateFiles(data, { ...evaluation, scenario: withScenario, signal, clock, log });
  return json ? `${JSON.stringify(result)}\n` : tableOf(result, evaluation.cutOffs);
}

export const isUsersFault = (error: unknown): error is Error =>
  error instanceof UsageError || error instanceof FileError || isArgumentError(error);

function parse(args: readonly string[]) {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help) return "help";
  const { train, test, users, items, scenario, json } = values;
  if (train === undefined || test === undefined) throw new UsageError(`--train and --test are needed.\n\n${USAGE}`);
  const protocol = PROTOCOLS.find((one) => one === values.protocol);
  if (protocol === undefined)
    throw new UsageError(`--protocol: ${JSON.stringify(values.protocol)} is not one of ${PROTOCOLS.join(", ")}.`);
  if (values.positive !== undefined && values["label-column"] === undefined)
    throw new UsageError("--positive needs --label-column, the column of the types of events.");
  const positive = values.positive?.split(",").map((type) => type.trim());
  const columns = {
    user: values["user-column"],
    item: values["item-column"],
    time: values["time-column"] === "none" ? null : values["time-column"],
    label: values["label-column"],
  };
  return {
    files: { train, test, users, items, areSessions: protocol === "sessions", columns, positive },
    scenarioFile: scenario,
    protocol,
    ...methodsNamed(values.models),
    cutOffs: values.at.split(",").map((k) => integer(k, "--at", 1, 500)),
    secondsMax: integer(values.seconds, "--seconds", 1, 86_400),
    memoryMbMax: integer(values["memory-mb"], "--memory-mb", 64, 10_000_000),
    budget: { weightBytesMax: integer(values["weight-mb"], "--weight-mb", 1, 2000) * 2 ** 20 },
    seed: integer(values.seed, "--seed", 0, 2 ** 31 - 1),
    includeSeen: values["include-seen"],
    json,
  };
}

function readScenarioFile(path: string): Scenario {
  try {
    return parseScenario(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw new UsageError(`--scenario: ${path}: ${(error as Error).message}`);
  }
}

function methodsNamed(names: string): { methods: Readonly<Record<string, Method>>; measureAll: boolean } {
  if (names === "auto" || names === "all") return { methods: METHODS, measureAll: names === "all" };
  const wanted = names.split(",");
  const unknown = wanted.find((name) => !Object.hasOwn(METHODS, name));
  const known = Object.keys(METHODS).join(", ");
  if (unknown !== undefined)
    throw new UsageError(`--models: ${JSON.stringify(unknown)} is not auto, all or one of ${known}.`);
  const methods = Object.fromEntries([POPULARITY, ...wanted].map((name) => [name, METHODS[name]!]));
  return { methods, measureAll: true };
}

function integer(value: string, option: string, least: number, most: number): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new UsageError(`${option}: ${JSON.stringify(value)} is not a whole number from ${least} to ${most}.`);
}

function isArgumentError(error: unknown): boolean {
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

/** The result as text for a terminal. */
function tableOf(result: FileEvaluation, cutOffs: readonly number[]): string {
  const { protocol, users, items, models, not_measured: notMeasured, users_without_history: without } = result;
  const lines = [`${protocol}: ${users} lists over ${items} items, on ${availableParallelism()} processors`, ""];
  const names = ["recall", "ndcg", "mrr", "hr", "coverage"];
  for (const k of cutOffs) {
    const header = names.map((name) => `${name}@${k}`.padStart(12));
    lines.push(["model".padEnd(24), ...header, "fit s", "peak MB", "MB"].join(" "));
    for (const model of models) {
      const figures = names.map((name) => (model.metrics[`${name}@${k}`] ?? Number.NaN).toFixed(4).padStart(12));
      const costs = [model.fit_seconds.toFixed(1), model.peak_mb.toFixed(0), (model.artifact_bytes / 1e6).toFixed(1)];
      lines.push([`${model.name}${model.chosen ? " (chosen)" : ""}`.padEnd(24), ...figures, ...costs].join(" "));
    }
    lines.push("");
  }
  for (const { name, reason } of notMeasured) lines.push(`not measured: ${name}: ${reason}`);
  if (notMeasured.length > 0) lines.push("");
  if (without) {
    const k = Math.max(...cutOffs);
    const of = (figures: Readonly<Record<string, number>>) =>
      `recall@${k} ${figures[`recall@${k}`]!.toFixed(4)}, ndcg@${k} ${figures[`ndcg@${k}`]!.toFixed(4)}`;
    lines.push(`${without.users} lists of users without a history. ${without.reason}`);
    lines.push(`  by popularity: ${of(without.popularity)}`, `  as served:     ${of(without.attributes)}`, "");
  }
  if (result.scenario) lines.push(scenarioText(result.scenario));
  return `${lines.join("\n")}\n`;
}
