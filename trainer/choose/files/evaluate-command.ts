/** What `npm run evaluate` does: measures how well the models of this trainer rank the interactions of two files. */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { POPULARITY } from "../../../shared/manifest.ts";
import { parseScenario, type Scenario } from "../../../shared/scenario.ts";
import { type CommandLine, type Given, helpText, type Result } from "../../command-line.ts";
import { UsageError } from "../../expected-error.ts";
import { METHODS } from "../../learn/methods.ts";
import type { Method } from "../../learn/model.ts";
import type { Terminal } from "../../terminal.ts";
import { scenarioText } from "../scenarios/scenario-text.ts";
import { evaluateFiles, type FileEvaluation } from "./evaluate-files.ts";
import { readFiles } from "./read-files.ts";

/** Two thirds of the machine's memory, at most 8 GB, which is more than a service that trains many models gives to one fit. */
const DEFAULT_MEMORY_MB = Math.round(Math.min(8000, (totalmem() / 2 ** 20) * (2 / 3)));

const text = { type: "string" } as const;
export const EVALUATE = {
  name: "evaluate",
  does: "fits models on the train file only, ranks all items of both files for every user of the test file, and prints how good the lists are",
  forms: [["--train FILE --test FILE", "Recall, NDCG, MRR, hit rate and coverage"]],
  flags: {
    train: {
      ...{ ...text, value: "FILE" },
      help: "CSV or TSV with a header line, Parquet, JSON or JSON Lines, also gzipped, read as a training reads them; or without a header (.txt) lines of whole numbers: the id of a user, then the ids of that user's items",
    },
    test: { ...text, value: "FILE", help: "what the lists are to contain, in the same form" },
    "user-column": {
      ...{ ...text, value: "NAME" },
      help: "guessed from common names when not given; without a header: positions from 1",
    },
    "item-column": { ...text, value: "NAME", help: "guessed in the same way" },
    "time-column": {
      ...{ ...text, value: "NAME" },
      help: "guessed in the same way; none: the rows of a user are in the order of the file",
    },
    users: {
      ...{ ...text, value: "FILE" },
      help: "users' attributes, one row a user: lists of test users without train rows are made from them where the train file shows that it helps, and the figures say by how much",
    },
    items: {
      ...{ ...text, value: "FILE" },
      help: "items' attributes, one row an item: similar items are learnt from them too, and items without train rows have one place in ten",
    },
    scenario: {
      ...{ ...text, value: "FILE" },
      help: "JSON with the fields of a scenario (limit, retrieval, boosts, diversity, …): the figures of the chosen model's lists with and without it, and a plot of NDCG against coverage for diversity from 0 to 1",
    },
    "label-column": {
      ...{ ...text, value: "NAME" },
      help: "rows count as positive where it is true or above 0; without it every row does",
    },
    positive: {
      ...{ ...text, value: "TYPES" },
      help: "rows count as positive where the label column is one of these types of events, such as purchase,cart",
    },
    protocol: {
      ...{ ...text, value: "set|next-item|sessions", default: "set" },
      help: "set: the test rows of a user are a set to be found (the default). next-item: the test rows come after the train rows, whose order in time is the history. sessions: test users are whole new sessions, and every prefix predicts the next item; rows that are not positive by --label-column are neither prefix nor to be found",
    },
    models: {
      ...{ ...text, value: "auto|all|NAME,…", default: "auto" },
      help: "the method chosen within the train file (auto); every method; or these. A method that does not fit into the seconds or the memory is printed with the reason, in the JSON as not_measured",
    },
    at: { ...text, value: "K,…", default: "10,20", help: "cut-offs (10,20)" },
    seconds: { ...text, value: "N", default: "900", help: "for choosing and fitting, all models together (900)" },
    "memory-mb": {
      ...{ ...text, value: "N", default: String(DEFAULT_MEMORY_MB) },
      help: "for a fit (two thirds of this machine's, at most 8000)",
    },
    "weight-mb": { ...text, value: "N", default: "48", help: "weights that the served model may have (48)" },
    seed: { ...text, value: "N", default: "1", help: "of everything random (1)" },
    "include-seen": {
      type: "boolean",
      default: false,
      help: "do not leave out items of the user's train rows: they come by the odds that they are chosen again where that is better",
    },
    json: {
      ...{ type: "boolean", default: false },
      help: "one JSON object on standard output; everything else goes to standard error",
    },
  },
} as const satisfies CommandLine;

type Flags = Given<typeof EVALUATE.flags>["flags"];

const PROTOCOLS = ["set", "next-item", "sessions"] as const;

export type EvaluateWorld = {
  /** Stops the evaluation. */
  readonly signal: AbortSignal;
  /** For lines about progress, and warnings. */
  readonly terminal: Terminal;
};

/** Does what the flags ask for. Throws UsageError or FileError where its sentence says enough. */
export async function runEvaluateCommand(flags: Flags, { signal, terminal }: EvaluateWorld): Promise<Result> {
  const { files, scenarioFile, ...evaluation } = evaluationOf(flags);
  const scenario = scenarioFile === undefined ? undefined : readScenarioFile(scenarioFile);
  const begin = performance.now();
  const clock = () => (performance.now() - begin) / 1000;
  const timed = (write: Terminal["print"]) => (line: string) => write(`${clock().toFixed(0).padStart(5)} s  ${line}`);
  const [log, showProgress] = [timed(terminal.print), timed(terminal.progress)];

  const data = await readFiles(files, signal);
  for (const warning of data.warnings) log(`warning: ${warning}`);
  const { user, item, time, label } = data.columns;
  log(`columns: user ${user}, item ${item}, time ${time ?? "none"}, label ${label ?? "none"}`);
  log(`train ${data.train.items.length} rows, test ${data.test.items.length}, rejected ${data.rejectedRows}`);
  const withScenario = scenario && { scenario, itemIdColumn: item };
  const logging = { log, showProgress };
  const result = await evaluateFiles(data, { ...evaluation, scenario: withScenario, signal, clock, ...logging });
  return { text: tableOf(result, evaluation.cutOffs), json: result };
}

function evaluationOf(flags: Flags) {
  const { train, test, users, items, scenario } = flags;
  if (train === undefined || test === undefined)
    throw new UsageError(`--train and --test are needed.\n\n${helpText(EVALUATE)}`);
  const protocol = PROTOCOLS.find((one) => one === flags.protocol);
  if (protocol === undefined)
    throw new UsageError(`--protocol: ${JSON.stringify(flags.protocol)} is not one of ${PROTOCOLS.join(", ")}.`);
  if (flags.positive !== undefined && flags["label-column"] === undefined)
    throw new UsageError("--positive needs --label-column, the column of the types of events.");
  const positive = flags.positive?.split(",").map((type) => type.trim());
  const columns = {
    user: flags["user-column"],
    item: flags["item-column"],
    time: flags["time-column"] === "none" ? null : flags["time-column"],
    label: flags["label-column"],
  };
  return {
    files: { train, test, users, items, areSessions: protocol === "sessions", columns, positive },
    scenarioFile: scenario,
    protocol,
    ...methodsNamed(flags.models),
    cutOffs: flags.at.split(",").map((k) => integer(k, "--at", 1, 500)),
    secondsMax: integer(flags.seconds, "--seconds", 1, 86_400),
    memoryMbMax: integer(flags["memory-mb"], "--memory-mb", 64, 10_000_000),
    budget: { weightBytesMax: integer(flags["weight-mb"], "--weight-mb", 1, 2000) * 2 ** 20 },
    seed: integer(flags.seed, "--seed", 0, 2 ** 31 - 1),
    includeSeen: flags["include-seen"],
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
