import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fittedLinear } from "../../trainer/learn/linear/linear-export.ts";
import { AS_SET } from "../../trainer/learn/linear/linear-model.ts";
import type { ExportedModel } from "../../trainer/learn/model.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { blend } from "../../trainer/learn/scoring/blend.ts";
import { sparseBuilder } from "../../trainer/learn/weights/sparse-builder.ts";
import type { SparseWeights } from "../../trainer/learn/weights/weight-matrix.ts";
import { type Bench, type BenchContext, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { processUse } from "./edge-scale-process.ts";
import { publishWorld, type RankCall, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { type DrawnWorld, drawnWorld, type ScaleWorld } from "./edge-scale-world.ts";
import { bundleOf } from "./rules.ts";

const ITEMS = 100_000;
const USERS = 20_000;
const CALLS = 300;
const WARM_CALLS = 60;
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
/** Bound on the ratio of the CPU time of a call with reasons to that of a plain call. */
const RATIO_MAX = 2;

type Models = Readonly<Record<string, (world: DrawnWorld) => ExportedModel>>;

const budget = { weightBytesMax: WEIGHT_BYTES_MAX };
/** Weights of a row, as the ridges keep them. */
const ROW = 60;

/** Sparse weights: each item leads to items near it and to any others. What the weights are does not change the times. */
function drawnWeights(itemCount: number): SparseWeights {
  const random = seededRandom(3);
  const builder = sparseBuilder(itemCount, itemCount);
  for (let item = 0; item < itemCount; item++) {
    const columns = new Set<number>();
    while (columns.size < ROW) columns.add(Math.floor(itemCount * random() ** 2));
    for (const column of columns) builder.add(column, random() - 0.2);
    builder.endRow();
  }
  return builder.build();
}

const ridgeOf = ({ itemCount }: DrawnWorld) =>
  fittedLinear("ridge", {}, { itemCount, terms: [{ weighting: AS_SET, matrix: drawnWeights(itemCount) }] });

function windowsOf({ itemCount }: DrawnWorld) {
  const matrix = drawnWeights(itemCount);
  const terms = [2, 10].map((scale) => ({ weighting: { distinct: false, scale, window: 6 * scale }, matrix }));
  return fittedLinear("windows", {}, { itemCount, terms, bias: new Float32Array(itemCount).fill(0.1) });
}

const MODELS: Models = {
  vectors: ({ exported }) => exported,
  ridge: (world) => ridgeOf(world).export(budget),
  windows: (world) => windowsOf(world).export(budget),
  blend: (world) =>
    blend("blend", {}, [
      { model: world.model, weight: 0.6 },
      { model: windowsOf(world), weight: 0.4 },
    ]).export(budget),
};

/**
 * Rank calls with reasons in turns with plain calls of the same users, on a real workerd, by kind of model. `--items 1e4` selects another
 * size and `--models vectors,blend` some models. `--before FOLDER` names a checkout of an earlier commit with its packages, whose Worker
 * answers the same calls in the same turns; shares are then compared.
 */
export const reasons: Bench = async (context) => {
  const { flags, say } = context;
  const itemCount = Number(flags.get("items") ?? ITEMS);
  const only = flags.get("models")?.split(",") ?? Object.keys(MODELS);
  const drawn = drawnWorld({ label: "reasons", itemCount, userCount: USERS, ...budget });
  const figures: Figure[] = [];
  for (const name of only) {
    say(`  ${name}`);
    const world = { ...drawn, exported: MODELS[name]!(drawn) };
    figures.push(...(await measureModel(name, world, context)));
  }
  return figures;
};

async function measureModel(name: string, world: ScaleWorld, context: BenchContext): Promise<Figure[]> {
  const before = context.flags.get("before");
  const folder = await mkdtemp(join(tmpdir(), "bench-reasons-"));
  const [now, earlier] = [join(folder, "now"), join(folder, "earlier")];
  try {
    const { call } = await publishWorld(now, world);
    await cp(now, earlier, { recursive: true });
    return await withEdge({ r2Directory: now }, async (edge, pid) => {
      if (before === undefined) return measureTurns(name, [{ label: "", edge, pid }], { ...context, call });
      return withEdge({ r2Directory: earlier, bundle: await bundleOf(before) }, (edgeBefore, pidBefore) => {
        const sides = [
          { label: "", edge, pid },
          { label: ".before", edge: edgeBefore, pid: pidBefore },
        ];
        return measureTurns(name, sides, { ...context, call });
      });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Side = { readonly label: string; readonly edge: TimedEdge; readonly pid: number | undefined };
type Times = { readonly ms: number[]; readonly cpuMs: number[] };

async function measureTurns(
  name: string,
  sides: readonly Side[],
  { call, flags, fail }: BenchContext & { readonly call: RankCall },
): Promise<Figure[]> {
  const count = Number(flags.get("calls") ?? CALLS);
  const kinds = ["plain", "reasons"] as const;
  const times = sides.map(() => ({ plain: emptyTimes(), reasons: emptyTimes() }));
  for (let i = 0; i < count + WARM_CALLS; i++)
    for (const [side, { edge, pid }] of sides.entries())
      for (const kind of i % 2 ? kinds : kinds.toReversed()) {
        const body = { user_id: String((i * 7919) % USERS), ...(kind === "reasons" && { return: ["reasons"] }) };
        const cpu = processUse(pid).cpuMs;
        const [ms] = await timesMs(1, () => call(edge, "", body));
        if (i < WARM_CALLS) continue;
        times[side]![kind].ms.push(ms!);
        times[side]![kind].cpuMs.push(processUse(pid).cpuMs - cpu);
      }
  return sides.flatMap(({ label }, side) => {
    const { plain, reasons } = times[side]!;
    const figures = (["ms", "cpuMs"] as const).map((of) => {
      const unit = of === "ms" ? "p50" : "cpu";
      return compared(`reasons.${unit}.${name}${label}`, "ms", quantile(reasons[of], 0.5), quantile(plain[of], 0.5));
    });
    const ratio = figures[1]!.ratio!;
    if (label === "" && ratio > RATIO_MAX)
      fail(`${name}: reasons take ${ratio.toFixed(2)} times the CPU time of a plain call, at most ${RATIO_MAX}`);
    return figures;
  });
}

const emptyTimes = (): Times => ({ ms: [], cpuMs: [] });
