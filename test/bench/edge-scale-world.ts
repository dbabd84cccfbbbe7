import type { AttributeColumn } from "../../shared/attributes.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { packStrings } from "../../shared/packed-strings.ts";
import { topK } from "../../shared/top-k.ts";
import type { ExportedModel, FittedModel } from "../../trainer/learn/model.ts";
import { fittedNetwork } from "../../trainer/learn/neural/fitted-network.ts";
import { POOLED_EXPORT } from "../../trainer/learn/neural/pooled-export.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";

/** A generated world of one size, with the answers that the edge should give. */
export type ScaleWorld = {
  readonly label: string;
  readonly itemCount: number;
  readonly dataset: Dataset;
  readonly exported: ExportedModel;
  /** A user's items, newest last; deterministic by number. */
  historyOf(user: number, length: number): ItemIndex[];
  /** The exact best items for a history, without its items, from float32 vectors in plain loops. */
  exactBest(history: readonly ItemIndex[], limit: number): ItemIndex[];
};

/** A world with the model that is exported. */
export type DrawnWorld = ScaleWorld & { readonly model: FittedModel };

const WIDTH = 64;
export const HISTORY_MAX = 100;
export const PER_USER = 20;
/** `rarity` is a uniform number, so that `$lt: 1` passes one item in 10,000. */
export const RARITIES = 10_000;
const ITEMS_PER_TASTE = 500;
/** Items of one taste are on the same shelf, so that a cap on shelves makes a user's list reach far down. */
const SHELVES = 200;
const BEGIN = 1_700_000_000;
const DAY = 86_400;

/**
 * Items have vectors around taste centres with uneven lengths and directions, like learnt ones. Users have two tastes.
 * The model is the published pooled model; beyond the budget its item matrix is int8.
 */
export function drawnWorld(options: {
  readonly label: string;
  readonly itemCount: number;
  readonly userCount: number;
  readonly weightBytesMax: number;
  /** Another seed gives other vectors for the same users and items. */
  readonly seed?: number;
}): DrawnWorld {
  const { label, itemCount, userCount, weightBytesMax, seed = 7 } = options;
  const values = drawnVectors(itemCount, seed);
  const shape = { itemCount, width: WIDTH, length: HISTORY_MAX, ordered: false };
  const parameters = new Map([
    ["item_table", { value: values, dims: [itemCount, WIDTH] }],
    ["projection", { value: identity(WIDTH), dims: [WIDTH, WIDTH] }],
    ["everyone", { value: new Float32Array(WIDTH), dims: [WIDTH] }],
  ]);
  const model = fittedNetwork({ method: "pooled", params: {} }, { shape, parameters }, POOLED_EXPORT);
  const tastes = tasteCount(itemCount);
  const historyOf = (user: number, length: number): ItemIndex[] => {
    const random = seededRandom(1000 + user);
    const homes = [0, 1].map(() => Math.floor(tastes * random()));
    const chosen = new Set<ItemIndex>();
    while (chosen.size < length) {
      const home = homes[chosen.size % 2]!;
      chosen.add(((home + tastes * Math.floor((itemCount / tastes) * random())) % itemCount) as ItemIndex);
    }
    return [...chosen];
  };
  return {
    label,
    itemCount,
    dataset: datasetOf({ itemCount, userCount, historyOf }),
    model,
    exported: model.export({ weightBytesMax }),
    historyOf,
    exactBest: (history, limit) => exactBest(values, history, limit),
  };
}

const tasteCount = (itemCount: number) => Math.ceil(itemCount / ITEMS_PER_TASTE);

/** Float32Array(itemCount · WIDTH): taste centre plus noise; the first directions are stronger. */
function drawnVectors(itemCount: number, seed: number): Float32Array<ArrayBuffer> {
  const random = seededRandom(seed);
  const normals = Float32Array.from({ length: 2 ** 16 }, () => normal(random));
  const strength = Float32Array.from({ length: WIDTH }, (_, i) => 1 / Math.sqrt(1 + i / 8));
  const tastes = tasteCount(itemCount);
  const centres = Float32Array.from({ length: tastes * WIDTH }, () => normal(random));
  const values = new Float32Array(itemCount * WIDTH);
  let state = 1; // fast linear congruential generator; only its upper half is used
  for (let item = 0; item < itemCount; item++) {
    const centre = (item % tastes) * WIDTH;
    const length = Math.exp(0.4 * normals[(item * 31) & 0xffff]!);
    for (let i = 0; i < WIDTH; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      values[item * WIDTH + i] = length * strength[i]! * (centres[centre + i]! + 0.8 * normals[state >>> 16]!);
    }
  }
  return values;
}

const normal = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const identity = (width: number) =>
  Float32Array.from({ length: width * width }, (_, i) => (i % (width + 1) === 0 ? 1 : 0));

function datasetOf({
  itemCount,
  userCount,
  historyOf,
}: Pick<ScaleWorld, "itemCount" | "historyOf"> & { readonly userCount: number }): Dataset {
  const rarity: AttributeColumn = {
    name: "rarity",
    type: "Numerical",
    values: Float64Array.from({ length: itemCount }, (_, item) => (item * 7919) % RARITIES),
  };
  const tastes = tasteCount(itemCount);
  const shelf: AttributeColumn = {
    name: "shelf",
    type: "Category",
    dictionary: Array.from({ length: SHELVES }, (_, i) => `shelf ${i}`),
    start: Uint32Array.from({ length: itemCount + 1 }, (_, item) => item),
    codes: Uint32Array.from({ length: itemCount }, (_, item) => (item % tastes) % SHELVES),
  };
  const items = new Int32Array(userCount * PER_USER);
  for (let user = 0; user < userCount; user++) items.set(historyOf(user, PER_USER), user * PER_USER);
  return {
    userCount,
    itemCount,
    userStart: Uint32Array.from({ length: userCount + 1 }, (_, user) => user * PER_USER),
    items,
    times: Uint32Array.from(items, (_, i) => BEGIN + (i % PER_USER) * DAY),
    positive: new Uint8Array(items.length).fill(1),
    ratings: null,
    itemIds: packStrings(Array.from({ length: itemCount }, (_, item) => String(item + 1))),
    userIds: packStrings(Array.from({ length: userCount }, (_, user) => String(user))),
    itemIdType: "integer",
    itemAttributes: [rarity, shelf],
    userAttributes: [],
  };
}

/** Cosine with the sum of the history's vectors: the pooled model with an identity projection. */
function exactBest(values: Float32Array, history: readonly ItemIndex[], limit: number): ItemIndex[] {
  const itemCount = values.length / WIDTH;
  const user = new Float64Array(WIDTH);
  for (const item of history) for (let i = 0; i < WIDTH; i++) user[i]! += values[item * WIDTH + i]!;
  const scores = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    let [product, square] = [0, 0];
    for (let i = 0; i < WIDTH; i++) {
      const value = values[item * WIDTH + i]!;
      product += value * user[i]!;
      square += value * value;
    }
    scores[item] = product / Math.sqrt(square);
  }
  const own = new Set(history);
  return topK(scores, limit, (item) => !own.has(item));
}
