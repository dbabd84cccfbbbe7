/** `npm run evaluate`: how well the models of this trainer rank two files that hold interactions. */
import { closeSync, openSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { POPULARITY } from "../shared/manifest.ts";
import { readAttributeFile } from "./choose/files/attribute-file.ts";
import { evaluateFiles, type FileEvaluation } from "./choose/files/evaluate-files.ts";
import { readInteractionFiles, type TrainAndTest } from "./choose/files/interaction-files.ts";
import { InteractionFileError } from "./choose/files/interaction-scan.ts";
import { qualityPlot } from "./choose/files/quality-plot.ts";
import { METHODS } from "./learn/methods.ts";
import type { Method } from "./learn/model.ts";

const USAGE = `npm run evaluate -- --train FILE --test FILE [options]

Fits models on the train file only, ranks all items of both files for every user of the test file, and prints how good
the lists are. Files: CSV or TSV with a header line, Parquet, JSON or JSON Lines, optionally gzipped; or without a header lines of
whole numbers, first a user's id, then those of the user's items.

  --user-column NAME  --item-column NAME  --time-column NAME   guessed from common names when not given;
                        --time-column none: the rows of a user are in the order of the file
  --users FILE          users' attributes, one row a user under the same column name: users of the test file without train rows are
                        then ranked for by them, where the train file shows that it helps, and figures tell by how much
  --items FILE          items' attributes, one row an item under the same column name: what is like what is learnt from them too, and
                        items without train rows have a place in one of ten
  --label-column NAME   rows count as positive where it is true or above 0; without it every row does
  --protocol set|next-item|sessions   (set)
        set        the test rows of a user are a set to be found
        next-item  the test rows come after the train rows, whose order in time is the history
        sessions   test users are whole new sessions; every prefix predicts the next item
                   (rows that are not positive by --label-column are neither prefix nor to be found)
  --models auto|all|NAME,…   (auto) the method chosen within the train file; every method; or these. What does not fit into the
                        seconds or the memory is told with the reason, in the JSON as not_measured
  --at K,…              (10,20) cut-offs
  --seconds N           (900) for choosing and fitting, all models together
  --memory-mb N         (two thirds of this machine's, at most 8000) for a fit
  --weight-mb N         (48) weights that the served model may have
  --seed N              (1)
  --plot FILE           an SVG picture of quality against fitting time
  --include-seen        do not leave out items of the user's train rows
  --json                one JSON object on standard output; everything else goes to standard error
`;

class UsageError extends Error {
  override readonly name = "UsageError";
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isTheirs = error instanceof UsageError || error instanceof InteractionFileError || isArgumentError(error);
  process.stderr.write(isTheirs ? `${(error as Error).message}\n` : `${(error as Error).stack ?? error}\n`);
  process.exitCode = 1;
}

async function main(args: readonly string[]): Promise<void> {
  const options = parse(args);
  if (options === "help") return void process.stdout.write(USAGE);
  const { files, users, items, json, plot, ...evaluation } = options;
  if (plot !== undefined) writing(plot, () => closeSync(openSync(plot, "a")));
  const begin = performance.now();
  const clock = () => (performance.now() - begin) / 1000;
  const log = (line: string) => process.stderr.write(`${clock().toFixed(0).padStart(5)} s  ${line}\n`);
  const abort = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => abort.abort(new UsageError("Stopped.")));

  const data = await withAttributes(await readInteractionFiles(files), { users, items });
  for (const warning of data.warnings) log(`warning: ${warning}`);
  const { user, item, time, label } = data.columns;
  log(`columns: user ${user}, item ${item}, time ${time ?? "none"}, label ${label ?? "none"}`);
  log(`train ${data.train.items.length} rows, test ${data.test.items.length}, rejected ${data.rejectedRows}`);
  const result = await evaluateFiles(data, { ...evaluation, signal: abort.signal, clock, log });
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : tableOf(result, evaluation.cutOffs));
  if (plot !== undefined) writePlot(plot, result, Math.max(...evaluation.cutOffs));
}

type AttributeFiles = { readonly users: string | undefined; readonly items: string | undefined };

async function withAttributes(data: TrainAndTest, { users, items }: AttributeFiles): Promise<TrainAndTest> {
  const { columns, train } = data;
  const userFile = { what: "user", idColumn: columns.user, ids: train.userIds } as const;
  const itemFile = { what: "item", idColumn: columns.item, ids: train.itemIds } as const;
  return {
    ...data,
    train: {
      ...train,
      ...(users !== undefined && { userAttributes: await readAttributeFile(users, userFile) }),
      ...(items !== undefined && { itemAttributes: await readAttributeFile(items, itemFile) }),
    },
  };
}

function writePlot(path: string, { protocol, users, items, models }: FileEvaluation, k: number): void {
  const metric = `ndcg@${k}`;
  const all = models.map(({ name, chosen, fit_seconds, metrics }) => {
    return { name, isChosen: chosen, fitSeconds: fit_seconds, value: metrics[metric] ?? Number.NaN };
  });
  const points = all.filter(({ value }) => Number.isFinite(value)); // none where nothing is judged
  const title = `${protocol}: ${metric} of ${users} lists over ${items} items`;
  writing(path, () => writeFileSync(path, qualityPlot(points, { title, metric })));
}

/** Before the work, since minutes would be lost, and after it, since much can happen meanwhile. */
function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new UsageError(`--plot: ${JSON.stringify(path)} cannot be written: ${(error as Error).message}`);
  }
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      train: text,
      test: text,
      "user-column": text,
      "item-column": text,
      "time-column": text,
      "label-column": text,
      protocol: { type: "string", default: "set" },
      models: { type: "string", default: "auto" },
      at: { type: "string", default: "10,20" },
      seconds: { type: "string", default: "900" },
      "memory-mb": { type: "string", default: String(defaultMemoryMb()) },
      "weight-mb": { type: "string", default: "48" },
      seed: { type: "string", default: "1" },
      plot: text,
      users: text,
      items: text,
      "include-seen": flag,
      json: flag,
      help: flag,
    },
  });
  if (values.help) return "help";
  const { train, test } = values;
  if (train === undefined || test === undefined) throw new UsageError(`--train and --test are needed.\n\n${USAGE}`);
  const columns = {
    user: values["user-column"],
    item: values["item-column"],
    time: values["time-column"] === "none" ? null : values["time-column"],
    label: values["label-column"],
  };
  return {
    files: { train, test, areSessions: values.protocol === "sessions", columns },
    protocol: oneOf(values.protocol, ["set", "next-item", "sessions"] as const, "--protocol"),
    ...modelsOf(values.models),
    cutOffs: values.at.split(",").map((k) => integer(k, "--at", 1, 500)),
    secondsMax: integer(values.seconds, "--seconds", 1, 86_400),
    memoryMbMax: integer(values["memory-mb"], "--memory-mb", 64, 10_000_000),
    budget: { weightBytesMax: integer(values["weight-mb"], "--weight-mb", 1, 2000) * 2 ** 20 },
    seed: integer(values.seed, "--seed", 0, 2 ** 31 - 1),
    includeSeen: values["include-seen"],
    plot: values.plot,
    users: values.users,
    items: values.items,
    json: values.json,
  };
}

/** Two thirds of the machine, at most 8 GB: fits beyond that are out of scope of a service that trains many models. */
function defaultMemoryMb(): number {
  return Math.round(Math.min(8000, (totalmem() / 2 ** 20) * (2 / 3)));
}

function modelsOf(names: string): { methods: Readonly<Record<string, Method>>; measureAll: boolean } {
  if (names === "auto" || names === "all") return { methods: METHODS, measureAll: names === "all" };
  const wanted = names.split(",");
  const unknown = wanted.find((name) => !Object.hasOwn(METHODS, name));
  if (unknown !== undefined) {
    throw new UsageError(
      `--models: ${JSON.stringify(unknown)} is not auto, all or one of ${Object.keys(METHODS).join(", ")}.`,
    );
  }
  const methods = Object.fromEntries([POPULARITY, ...wanted].map((name) => [name, METHODS[name]!]));
  return { methods, measureAll: true };
}

function oneOf<Value extends string>(value: string, allowed: readonly Value[], option: string): Value {
  const found = allowed.find((one) => one === value);
  if (found === undefined)
    throw new UsageError(`${option}: ${JSON.stringify(value)} is not one of ${allowed.join(", ")}.`);
  return found;
}

function integer(value: string, option: string, least: number, most: number): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new UsageError(`${option}: ${JSON.stringify(value)} is not a whole number from ${least} to ${most}.`);
}

function isArgumentError(error: unknown): boolean {
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

function tableOf(result: FileEvaluation, cutOffs: readonly number[]): string {
  const { protocol, users, items, models, not_measured: notMeasured, users_without_history: newcomers } = result;
  const lines = [`${protocol}: ${users} lists over ${items} items, on ${availableParallelism()} processors`, ""];
  const names = ["recall", "ndcg", "mrr", "hr", "coverage"];
  for (const k of cutOffs) {
    lines.push(
      ["model".padEnd(24), ...names.map((name) => `${name}@${k}`.padStart(12)), "fit s", "peak MB", "MB"].join(" "),
    );
    for (const model of models) {
      const figures = names.map((name) => (model.metrics[`${name}@${k}`] ?? Number.NaN).toFixed(4).padStart(12));
      const costs = [model.fit_seconds.toFixed(1), model.peak_mb.toFixed(0), (model.artifact_bytes / 1e6).toFixed(1)];
      lines.push([`${model.name}${model.chosen ? " (chosen)" : ""}`.padEnd(24), ...figures, ...costs].join(" "));
    }
    lines.push("");
  }
  for (const { name, reason } of notMeasured) lines.push(`not measured: ${name}: ${reason}`);
  if (notMeasured.length > 0) lines.push("");
  if (newcomers) {
    const k = Math.max(...cutOffs);
    const of = (figures: Readonly<Record<string, number>>) =>
      `recall@${k} ${figures[`recall@${k}`]!.toFixed(4)}, ndcg@${k} ${figures[`ndcg@${k}`]!.toFixed(4)}`;
    lines.push(`${newcomers.users} lists of users without a history. ${newcomers.reason}`);
    lines.push(`  by popularity: ${of(newcomers.popularity)}`, `  as served:     ${of(newcomers.attributes)}`, "");
  }
  return `${lines.join("\n")}\n`;
}
