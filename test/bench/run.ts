/**
 * `npm run bench [-- NAME… --json]` runs benches and prints a table or a JSON array. Progress goes to standard error.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import type { Bench, BenchContext, Figure } from "./bench.ts";
import { parseBenchArguments } from "./bench-arguments.ts";
import { figuresTable } from "./figures-table.ts";

/** Every bench, imported when it is needed. */
const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  edge: async () => (await import("./edge-rank.ts")).edgeRank,
  "edge-scale": async () => (await import("./edge-scale.ts")).edgeScale,
  "edge-sparse": async () => (await import("./edge-sparse.ts")).edgeSparse,
  catalog: async () => (await import("./catalog.ts")).catalog,
  rules: async () => (await import("./rules.ts")).rules,
  reasons: async () => (await import("./reasons.ts")).reasons,
  "live-catalog": async () => (await import("./live-catalog.ts")).liveCatalog,
  "far-bucket": async () => (await import("./far-bucket.ts")).farBucket,
  experiment: async () => (await import("./experiment.ts")).experiment,
  exposures: async () => (await import("./exposures.ts")).exposures,
  events: async () => (await import("./events.ts")).events,
  deployed: async () => (await import("./deployed.ts")).deployed,
  serve: async () => (await import("./serve.ts")).serve,
  load: async () => (await import("./load.ts")).load,
  fuzz: async () => (await import("./fuzz.ts")).fuzz,
  batches: async () => (await import("./batches.ts")).batches,
  many: async () => (await import("./many.ts")).many,
  models: async () => (await import("./many-models.ts")).manyModels,
  cost: async () => (await import("./cost.ts")).cost,
  training: async () => (await import("./training-stages.ts")).trainingStages,
  quality: async () => (await import("./quality.ts")).quality,
  replay: async () => (await import("./replay.ts")).replay,
  lists: async () => (await import("./lists.ts")).lists,
  choice: async () => (await import("./choice.ts")).choice,
  "quality-growth": async () => (await import("./quality-growth.ts")).qualityGrowth,
  postgres: async () => (await import("./postgres.ts")).postgres,
  pushdown: async () => (await import("./pushdown.ts")).pushdown,
  bigquery: async () => (await import("./bigquery.ts")).bigquery,
  warehouse: async () => (await import("./warehouse.ts")).warehouse,
  scale: async () => (await import("./scale.ts")).scale,
  memory: async () => (await import("./memory.ts")).memory,
  records: async () => (await import("./records.ts")).records,
  "training-neural": async () => (await import("./training-neural.ts")).trainingNeural,
};

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseBenchArguments(args, Object.keys(BENCHES));
  if (parsed.kind === "message") {
    process[parsed.isFault ? "stderr" : "stdout"].write(`${parsed.text}\n`);
    return parsed.isFault ? 2 : 0;
  }
  const say = (line: string) => process.stderr.write(`${line}\n`);
  let failures = 0;
  const fail = (reason: string) => {
    failures++;
    say(`  FAILED: ${reason}`);
  };
  const context: BenchContext = { say, fail, flags: parsed.flags };
  const load = loadavg()[0]!;
  say(`${cpus()[0]?.model ?? "unknown processor"}, ${availableParallelism()} threads, load ${load.toFixed(1)}`);
  if (load > availableParallelism() / 2) say("The machine is busy with other work: times will be too long.");
  const figures: Figure[] = [];
  for (const name of parsed.names) {
    say(`${name}:`);
    const bench = await BENCHES[name]!();
    figures.push(...(await bench(context)));
  }
  process.stdout.write(parsed.json ? `${JSON.stringify(figures)}\n` : `${figuresTable(figures)}\n`);
  return failures === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
