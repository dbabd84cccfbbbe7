/**
 * The process that `training-families.ts` measures: one fit with the first setting of a family's grid. Arguments:
 * family, a public data set or "drawn", folder for the reference, seconds for a network.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ItemIndex } from "../../shared/ids.ts";
import { watchPeakMemory } from "../../trainer/choose/files/peak-memory.ts";
import { itemFeatures } from "../../trainer/learn/attributes/item-features.ts";
import { SET_HISTORY_MAX } from "../../trainer/learn/linear/linear-model.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import type { FittedModel, TrainingData } from "../../trainer/learn/model.ts";
import { samplePositions, seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { SEQUENCE_MAX } from "../../trainer/learn/sequential-ridge.ts";
import { type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { referenceScores } from "../fixtures/reference-scores.ts";
import { drawnDataset } from "./bench-data.ts";
import { benchContext } from "./quality-judge.ts";

/** Result of the process. */
export type FamilyMeasured = {
  /** Best of `runs` fits; the first one includes compilation. */
  readonly seconds: number;
  readonly runs: number;
  /** Peak memory of the process, data and program included. */
  readonly peakMb: number;
  /** The cost that the chooser predicts. */
  readonly predictedSeconds: number;
  readonly itemCount: number;
};

/** Fits shorter than this are repeated. */
const SHORT_SECONDS = 5;
const RUNS = 3;
/** Users whose scores are compared with the reference. */
const SCORED_USERS = 50;

const [name, set, folder, seconds] = process.argv.slice(2) as [string, RealDataSet | "drawn", string, string];
const data = await dataOf(set);
const method = METHODS[name]!;
const params = method.grid(data)[0]!;
const peak = watchPeakMemory();
let fitted: FittedModel | undefined;
let [best, runs] = [Number.POSITIVE_INFINITY, 0];
do {
  const context = { ...benchContext(seededRandom(7)), secondsMax: Number(seconds) };
  const begin = performance.now();
  fitted = await method.fit(data, params, context);
  best = Math.min(best, (performance.now() - begin) / 1000);
} while (++runs < RUNS && best < SHORT_SECONDS);
const peakMb = peak();
await writeForReference(fitted, runs);
const { seconds: predictedSeconds } = method.cost(data, params);
const measured: FamilyMeasured = { seconds: best, runs, peakMb, predictedSeconds, itemCount: data.itemCount };
process.send?.({ measured }, () => process.disconnect());

async function dataOf(from: RealDataSet | "drawn"): Promise<TrainingData> {
  if (from === "drawn") return drawnDataset({ users: 6000, items: 3400, perUser: 100 });
  const withAttributes = name === "attribute_ridge";
  const { dataset } = await readRealData(from, { everyRowPositive: true, withAttributes });
  return withAttributes ? dataset : { ...dataset, itemAttributes: [], userAttributes: [] };
}

/** Data, task and our scores of some users for reference/closed_forms.py. */
async function writeForReference(model: FittedModel, fits: number): Promise<void> {
  const users = [...samplePositions(data.userCount, SCORED_USERS, seededRandom(1))];
  const features = itemFeatures(data.itemAttributes, data.itemCount);
  const wanted = {
    method: name,
    params,
    item_count: data.itemCount,
    feature_count: features.columnCount,
    set_history_max: SET_HISTORY_MAX,
    sequence_max: SEQUENCE_MAX,
    users,
    runs: fits,
  };
  const scores = new Float32Array(users.length * data.itemCount);
  for (const [i, user] of users.entries()) {
    const items = [...data.items.subarray(data.userStart[user]!, data.userStart[user + 1]!)].slice(-model.historyMax);
    const history = { items: items as ItemIndex[], agesDays: items.map(() => 0) };
    scores.set(referenceScores(model, history), i * data.itemCount);
  }
  const files: Readonly<Record<string, Uint8Array | Uint32Array | Int32Array | Float32Array | string>> = {
    "wanted.json": JSON.stringify(wanted),
    "start.u32": data.userStart,
    "items.i32": data.items,
    "times.u32": data.times,
    "features.start.u32": features.start,
    "features.columns.i32": features.columns,
    "features.values.f32": features.values,
    "ours.f32": scores,
  };
  for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content);
}
