import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ItemIndex } from "../../shared/ids.ts";
import type { Manifest } from "../../shared/manifest.ts";
import { topK } from "../../shared/top-k.ts";
import { localSetRidge } from "../../trainer/learn/local-set-ridge.ts";
import type { ExportedModel, FittedModel } from "../../trainer/learn/model.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { fitContext } from "../fixtures/fit-context.ts";
import { referenceScores } from "../fixtures/reference-scores.ts";
import { type Bench, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { publishWorld, type RankCall, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { HISTORY_MAX, type ScaleWorld } from "./edge-scale-world.ts";
import { datasetOfFirst, drawnSparseWorld, HELD_OUT, historyOf, type SparseWorld } from "./edge-sparse-world.ts";

const MB = 1e6;
const ITEMS = 1_000_000;
const USERS_PER_ITEM = 0.6;
const SETTINGS = { lambda: 10, userExponent: 0.5, penaltyExponent: 0.25, recentScale: 0, neighbours: 100 };
/** Bytes of weights per item: the values of the table, and the one that the edge serves. */
const BUDGETS = [8, 16, 24, 32, 48];
const SERVED_BYTES_PER_ITEM = 64;
const USERS_SERVED = 20_000;
const LISTS = 4000;
const LIST_LENGTH = 10;
const LISTS_FROM_EDGE = 300;
const CALLS = 200;
const WARM_UP = 20;

const LOSS_MAX = 0.02;
const MEMORY_MB_MAX = 110;
const AGREEMENT_LEAST = 0.99;

/**
 * A sparse item-to-item model of a million items in one isolate: a local ridge fitted on generated histories and pruned to
 * some bytes per item. Reports the loss of NDCG@10 on held-out choices against the whole float32 model, and compares
 * the graph's lists with those of a real workerd. `--items 1e5` and `--bytes-per-item 24` select other values; bounds
 * are checked at the defaults.
 */
export const edgeSparse: Bench = async ({ say, fail, flags }) => {
  const itemCount = Number(flags.get("items") ?? ITEMS);
  const perItem = Number(flags.get("bytes-per-item") ?? SERVED_BYTES_PER_ITEM);
  const label = itemCount === 1e6 ? "1m" : `${itemCount / 1000}k`;
  const world = drawnSparseWorld(itemCount, Math.round(USERS_PER_ITEM * itemCount));
  say(`  ${itemCount} items, ${world.train.items.length} choices by ${world.train.userCount} users`);
  const begin = performance.now();
  const model = await localSetRidge.fit(
    { ...world.train, itemAttributes: [], userAttributes: [] },
    SETTINGS,
    fitContext(),
  );
  const fitSeconds = (performance.now() - begin) / 1000;
  say(`  fitted in ${fitSeconds.toFixed(0)} s`);
  const gains = Array.from({ length: LISTS }, (_, user) => gain(world, user, exactList(world, model, user)));
  const exact = mean(gains);
  say(`  exact: NDCG@${LIST_LENGTH} ${exact.toFixed(4)}`);

  const figures: Figure[] = [
    { name: `edge.sparse.fit_seconds.${label}`, value: fitSeconds, unit: "s" },
    { name: `edge.sparse.exact.${label}`, value: exact, unit: "ndcg@10" },
  ];
  for (const bytes of BUDGETS) {
    const exported = model.export({ weightBytesMax: bytes * itemCount });
    const { loss, error } = lossOf(gains, (await judged(world, exported)).gains);
    say(`  ${bytes} bytes per item: loss ${percent(loss)} ± ${percent(error)} (${exported.truncation})`);
    figures.push({ name: `edge.sparse.loss.${label}.${bytes}_bytes`, value: loss, unit: "of NDCG@10" });
  }
  const exported = model.export({ weightBytesMax: perItem * itemCount });
  const { lists, gains: cutGains } = await judged(world, exported);
  const { loss, error } = lossOf(gains, cutGains);
  say(`  ${perItem} bytes per item, as served: loss ${percent(loss)} ± ${percent(error)} (${exported.truncation})`);
  const weightBytes = exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const served = await measureServed({ world, label, exported, lists, say });
  figures.push(
    { name: `edge.sparse.loss.${label}`, value: loss, unit: "of NDCG@10" },
    { name: `edge.sparse.loss_error.${label}`, value: error, unit: "of NDCG@10" },
    { name: `edge.sparse.weights.${label}`, value: weightBytes / MB, unit: "MB" },
    ...served,
  );

  const figureOf = (name: string) => figures.find((figure) => figure.name === `edge.sparse.${name}.${label}`)!.value;
  if (loss > LOSS_MAX) fail(`${percent(loss)} of NDCG are lost, at most ${percent(LOSS_MAX)}`);
  if (figureOf("memory") > MEMORY_MB_MAX)
    fail(`${figureOf("memory")} MB of WASM and JavaScript, at most ${MEMORY_MB_MAX}`);
  if (figureOf("agreement") < AGREEMENT_LEAST) fail(`${figureOf("agreement")} of the lists' items are served`);
  return figures;
};

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

const percent = (share: number) => `${(100 * share).toFixed(2)} %`;

/** The loss of the mean with its paired standard error. */
function lossOf(exact: readonly number[], cut: readonly number[]) {
  const lost = exact.map((own, user) => own - cut[user]!);
  const average = mean(lost);
  const deviation = Math.sqrt(mean(lost.map((own) => (own - average) ** 2)));
  return { loss: average / mean(exact), error: deviation / Math.sqrt(lost.length) / mean(exact) };
}

/** NDCG of a list with binary gains. */
function gain({ targets }: SparseWorld, user: number, list: readonly ItemIndex[]): number {
  const right = new Set(targets.subarray(user * HELD_OUT, (user + 1) * HELD_OUT));
  let [found, ideal] = [0, 0];
  for (const [place, item] of list.entries()) if (right.has(item)) found += 1 / Math.log2(place + 2);
  for (let place = 0; place < HELD_OUT; place++) ideal += 1 / Math.log2(place + 2);
  return found / ideal;
}

function bestOf(scores: Float32Array, history: readonly ItemIndex[]): ItemIndex[] {
  const own = new Set(history);
  return topK(scores, LIST_LENGTH, (item) => !own.has(item));
}

const asHistory = (items: readonly ItemIndex[]) => ({ items, agesDays: items.map(() => 0) });

/** Lists from all weights, in float32 with plain loops. */
function exactList(world: SparseWorld, model: FittedModel, user: number): ItemIndex[] {
  const history = historyOf(world, user, HISTORY_MAX);
  return bestOf(referenceScores(model, asHistory(history)), history);
}

/** Lists and NDCG of an exported model in onnxruntime-node. */
async function judged(world: SparseWorld, exported: ExportedModel) {
  const scorer = await openScorer(exported, world.train.itemCount);
  try {
    const lists: ItemIndex[][] = [];
    for (let user = 0; user < LISTS; user++) {
      const history = historyOf(world, user, HISTORY_MAX);
      lists.push(bestOf(await scorer.score(asHistory(history)), history));
    }
    return { lists, gains: lists.map((list, user) => gain(world, user, list)) };
  } finally {
    await scorer.close();
  }
}

type Cut = {
  readonly world: SparseWorld;
  readonly label: string;
  readonly exported: ExportedModel;
  /** Lists by user from onnxruntime-node. */
  readonly lists: readonly (readonly ItemIndex[])[];
  readonly say: (line: string) => void;
};

async function measureServed({ world, label, exported, lists, say }: Cut): Promise<Figure[]> {
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-sparse-"));
  try {
    const { built, call } = await publishWorld(r2Directory, scaleWorldOf(world, { label, exported }));
    say("  published");
    return await withEdge({ r2Directory }, async (edge) => {
      const [firstMs] = await timesMs(1, () => call(edge, userQuery(0)));
      const memory = memoryFigures(edge, built.manifest, label);
      const times = await measureTimes({ edge, call, world, label, exported });
      const agreement = await measureAgreement(edge, call, lists);
      return [
        ...memory,
        ...times,
        { name: `edge.sparse.first.${label}`, value: firstMs!, unit: "ms" },
        { name: `edge.sparse.agreement.${label}`, value: agreement, unit: "recall@10" },
      ];
    });
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
}

const scaleWorldOf = (world: SparseWorld, own: Pick<ScaleWorld, "label" | "exported">): ScaleWorld => ({
  ...own,
  itemCount: world.train.itemCount,
  dataset: datasetOfFirst(world, USERS_SERVED),
  historyOf: (user, length) => historyOf(world, user, length),
  exactBest: () => [],
});

type Serving = {
  readonly edge: TimedEdge;
  readonly call: RankCall;
  readonly world: SparseWorld;
  readonly label: string;
  readonly exported: ExportedModel;
};

/**
 * One connection, one call at a time, alternating with onnxruntime-node scoring the same history with the same graph.
 */
async function measureTimes({ edge, call, world, label, exported }: Serving): Promise<Figure[]> {
  const scorer = await openScorer(exported, world.train.itemCount);
  const score = (user: number) => scorer.score(asHistory(historyOf(world, user, HISTORY_MAX)));
  try {
    await timesMs(WARM_UP, (i) => Promise.all([call(edge, userQuery(i)), score(i)]));
    const [edgeMs, nativeMs]: [number[], number[]] = [[], []];
    for (let i = 0; i < CALLS; i++) {
      const user = (i * 7919) % USERS_SERVED;
      edgeMs.push(...(await timesMs(1, () => call(edge, userQuery(user)))));
      nativeMs.push(...(await timesMs(1, () => score(user))));
    }
    return [0.5, 0.99].map((share) =>
      compared(`edge.sparse.p${100 * share}.${label}`, "ms", quantile(edgeMs, share), quantile(nativeMs, share)),
    );
  } finally {
    await scorer.close();
  }
}

/** Fraction of the lists' items that the edge returns too, for the user's stored history. */
async function measureAgreement(edge: TimedEdge, call: RankCall, lists: Cut["lists"]): Promise<number> {
  let [found, asked] = [0, 0];
  for (const [user, list] of lists.slice(0, LISTS_FROM_EDGE).entries()) {
    const answered = new Set(await call(edge, userQuery(user)));
    found += list.filter((item) => answered.has(String(item + 1))).length;
    asked += list.length;
  }
  return found / asked;
}

/** Memory after loading: the WASM heap, the decoded files and one answer's scores. */
function memoryFigures({ log }: TimedEdge, { catalog, users, item_count }: Manifest, label: string): Figure[] {
  const line = log.findLast((text) => text.includes("version_loaded"));
  if (line === undefined) throw new Error(`The Worker did not say that it loaded a version: ${log.join("\n")}`);
  const { heap_bytes: heap } = JSON.parse(line) as { readonly heap_bytes: number };
  const script = catalog.size + (users?.directory.size ?? 0) + Float32Array.BYTES_PER_ELEMENT * item_count;
  return [
    { name: `edge.sparse.memory.${label}`, value: (heap + script) / MB, unit: "MB" },
    { name: `edge.sparse.memory.wasm.${label}`, value: heap / MB, unit: "MB" },
    { name: `edge.sparse.memory.script.${label}`, value: script / MB, unit: "MB" },
  ];
}

const userQuery = (user: number) => `?user_id=${user}&limit=${LIST_LENGTH}`;
