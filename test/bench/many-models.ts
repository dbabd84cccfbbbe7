import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { type Bench, quantile, timesMs } from "./bench.ts";

const MODELS = 50;
const CALLS = 3000;
const CONNECTIONS = 8;
/** Rows of 32 bytes, so models of 2 to 8 MB. */
const paddingOf = (model: number) => Math.round(62_500 + (187_500 * ((model * 17) % MODELS)) / MODELS);

const SESSION = { interactions: [{ item_id: "i0" }], limit: 2 };

/**
 * Fifty models that together exceed an isolate's memory several times, called with probabilities 1, 1/2, 1/3, …: the
 * cost of eviction. The reference is loading the model for every call.
 */
export const manyModels: Bench = async ({ say, fail }) => {
  const folder = await mkdtemp(join(tmpdir(), "bench-models-"));
  const edge = await startEdge({ r2Directory: folder, vars: { POINTER_CACHE_SECONDS: 5, KEY_CACHE_SECONDS: 25 } });
  try {
    const sizes = await publishAll(edge);
    say(`  ${MODELS} models, ${(sizes.reduce((sum, size) => sum + size, 0) / 1e6).toFixed(0)} MB of weights`);
    const { ms, failed, asked } = await ask(edge);
    if (failed > 0) fail(`${failed} calls failed or were answered wrongly`);
    const loads = edge.log.map((line) => JSON.parse(line) as Load).filter(({ event }) => event === "version_loaded");
    const used = Math.max(...loads.map(({ used_bytes }) => used_bytes)) / 1e6;
    const loaded = loads.reduce((sum, { model }) => sum + sizes[Number(model.slice(1))]!, 0);
    const always = asked.reduce((sum, model) => sum + sizes[model]!, 0);
    return [
      { name: "models.count", value: MODELS, unit: "" },
      { name: "models.failed", value: failed, unit: "" },
      { name: "models.loads", value: loads.length, unit: "", reference: CALLS, ratio: loads.length / CALLS },
      {
        name: "models.bytes_per_call",
        value: loaded / CALLS,
        unit: "B",
        reference: always / CALLS,
        ratio: loaded / always,
      },
      { name: "models.memory", value: used, unit: "MB" },
      { name: "models.p50", value: quantile(ms, 0.5), unit: "ms" },
      { name: "models.p99", value: quantile(ms, 0.99), unit: "ms" },
    ];
  } finally {
    await edge.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

type Load = { readonly event: string; readonly model: string; readonly used_bytes: number };

/** Bytes of weights per model. */
async function publishAll(edge: EdgeWorld): Promise<number[]> {
  const sizes: number[] = [];
  for (let model = 0; model < MODELS; model++) {
    const exported = shopModel({ isReversed: model % 2 === 1, padding: paddingOf(model) });
    await edge.publish({ modelName: `m${model}`, exported });
    sizes.push(exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0));
  }
  return sizes;
}

async function ask(edge: EdgeWorld) {
  const random = seededRandom(3);
  const chances = Array.from({ length: MODELS }, (_, i) => 1 / (i + 1));
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  const drawn = () => {
    let left = random() * total;
    for (let model = 0; model < MODELS; model++) {
      left -= chances[model]!;
      if (left < 0) return model;
    }
    return 0;
  };
  const asked = Array.from({ length: CALLS }, drawn);
  const ms: number[] = [];
  let failed = 0;
  const connection = async (first: number) => {
    for (let i = first; i < CALLS; i += CONNECTIONS) {
      const expected = asked[i]! % 2 === 1 ? '["i7","i6"]' : '["i1","i2"]';
      const call = async () => (await edge.call(`/v0/models/m${asked[i]}/rank`, { body: SESSION })).text();
      ms.push(...(await timesMs(1, async () => void ((await call()) === expected || failed++))));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => connection(i)));
  return { ms, failed, asked };
}
