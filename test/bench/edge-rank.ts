import type { ItemIndex } from "../../shared/ids.ts";
import type { History } from "../../shared/snapshot.ts";
import { localSetRidge } from "../../trainer/learn/local-set-ridge.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { fitContext } from "../fixtures/fit-context.ts";
import { type Bench, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { drawnDataset } from "./bench-data.ts";

const CATALOGS = [
  { label: "10k", items: 10_000, users: 20_000 },
  { label: "100k", items: 100_000, users: 50_000 },
] as const;
const PER_USER = 20;
const CALLS = 400;
const WARM_UP = 50;
const WEIGHT_BYTES_MAX = 48 * 2 ** 20;

/**
 * Latency of a rank call over HTTP to a real workerd, one connection, one call at a time. The reference is
 * onnxruntime-node scoring the same histories with the same graph; `edge.http.p50` is a call without any work.
 */
export const edgeRank: Bench = async ({ say }) => {
  const figures: Figure[] = [];
  for (const catalog of CATALOGS) {
    say(`  a catalog of ${catalog.label} items`);
    const edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 4, KEY_CACHE_SECONDS: 25 } });
    try {
      figures.push(...(await measure(edge, catalog)));
    } finally {
      await edge.stop();
    }
  }
  return figures;
};

async function measure(edge: EdgeWorld, { label, items, users }: (typeof CATALOGS)[number]): Promise<Figure[]> {
  const dataset = drawnDataset({ users, items, perUser: PER_USER });
  const fitted = await localSetRidge.fit(dataset, localSetRidge.grid(dataset)[0]!, fitContext());
  const exported = fitted.export({ weightBytesMax: WEIGHT_BYTES_MAX });
  await edge.publish({ modelName: "bench", dataset, exported, historyMax: fitted.historyMax });

  const userOf = (i: number) => 1 + ((i * 7919) % users);
  const path = "/v0/models/bench/rank";
  const known = (i: number) => edge.call(`${path}?user_id=${userOf(i)}&limit=15`).then(ok);
  const filtered = (i: number) => {
    const body = { user_id: String(userOf(i)), retrieval: { price: { $lt: 10 } }, limit: 15 };
    return edge.call(path, { body }).then(ok);
  };
  const firstMs = (await timesMs(1, () => known(0)))[0]!; // loads the version
  await timesMs(WARM_UP, known);
  const knownMs = await timesMs(CALLS, known);
  const filteredMs = await timesMs(CALLS, filtered);
  const healthMs = await timesMs(CALLS, () => edge.call("/health/live").then(ok));

  const scorer = await openScorer(exported, items);
  const historyOf = (user: number): History => {
    const own = dataset.items.subarray(dataset.userStart[user - 1], dataset.userStart[user]);
    return { items: [...own] as ItemIndex[], agesDays: [...own].map((_, i) => i) };
  };
  await timesMs(WARM_UP, (i) => scorer.score(historyOf(userOf(i))));
  const nativeMs = await timesMs(CALLS, (i) => scorer.score(historyOf(userOf(i))));
  await scorer.close();

  const native = quantile(nativeMs, 0.5);
  return [
    compared(`edge.rank.p50.${label}`, "ms", quantile(knownMs, 0.5), native),
    { name: `edge.rank.p99.${label}`, value: quantile(knownMs, 0.99), unit: "ms" },
    compared(`edge.rank_filtered.p50.${label}`, "ms", quantile(filteredMs, 0.5), native),
    { name: `edge.first_rank.${label}`, value: firstMs, unit: "ms" },
    { name: `edge.http.p50.${label}`, value: quantile(healthMs, 0.5), unit: "ms" },
  ];
}

async function ok(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`The edge answered ${response.status}: ${text}`);
}
