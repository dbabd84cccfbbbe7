import { attributeRidge } from "./attributes/attribute-ridge.ts";
import { withColdItems } from "./attributes/cold-start.ts";
import { standardBlends } from "./blends.ts";
import { graphFilter } from "./graph-filter.ts";
import { implicitAls } from "./implicit-als.ts";
import { localSetRidge } from "./local-set-ridge.ts";
import type { Method, TrainingData } from "./model.ts";
import { pooledHistory } from "./pooled-history.ts";
import { popularity } from "./popularity.ts";
import { sasrec } from "./sasrec.ts";
import { sequentialLocalRidge } from "./sequential-local-ridge.ts";
import { sequentialRidge } from "./sequential-ridge.ts";
import { sessionWalk } from "./session-walk.ts";
import { sharpenedFilter } from "./sharpened-filter.ts";
import { repeatedFraction } from "./statistics/valued-histories.ts";

const WITHOUT_COLD_ITEMS: readonly object[] = [popularity, attributeRidge];

const PERSONAL: readonly object[] = [
  localSetRidge,
  graphFilter,
  forSparseData(sharpenedFilter as Method),
  implicitAls,
  sequentialRidge,
  sequentialLocalRidge,
  forRepeatedItems(sessionWalk as Method),
  forEnoughData(pooledHistory as Method),
  forEnoughData(sasrec as Method),
];

const byName = (methods: readonly Method[]) => Object.fromEntries(methods.map((method) => [method.name, method]));

/** Every method by its name. Personal methods and blends also place cold items. */
export const METHODS: Readonly<Record<string, Method>> = byName([
  ...(WITHOUT_COLD_ITEMS as readonly Method[]),
  ...(PERSONAL as readonly Method[]).map(withColdItems),
  ...standardBlends(byName(PERSONAL as readonly Method[])),
]);

/** A walk that may stay on an item is worth a try if at least this fraction of the positives repeats an item of its history. */
const REPEATED_MIN = 0.05;

/** The same method with an empty grid on data in which items are rarely chosen again. */
function forRepeatedItems(method: Method): Method {
  return { ...method, grid: (data) => (repeatedFraction(data) >= REPEATED_MIN ? method.grid(data) : []) };
}

/**
 * Two hops read interactions at each rank call. With more interactions for each pair of items, `graph_filter` has fewer weights to read,
 * and on ml-100k it ranks better.
 */
const ENTRIES_PER_PAIR_MAX = 0.01;

/** The same method with an empty grid where interactions are many for the catalog. */
function forSparseData(method: Method): Method {
  const isSparse = ({ items, itemCount }: TrainingData) => items.length < ENTRIES_PER_PAIR_MAX * itemCount ** 2;
  return { ...method, grid: (data) => (isSparse(data) ? method.grid(data) : []) };
}

/** With fewer positive interactions, closed forms rank better than networks, in a hundredth of the time. */
const NEURAL_INTERACTIONS_MIN = 20_000;

/** The same method with an empty grid on data that are too small for networks. */
function forEnoughData(method: Method): Method {
  const isEnough = ({ items, positive }: TrainingData) =>
    items.length >= NEURAL_INTERACTIONS_MIN && positive.reduce((count, is) => count + is, 0) >= NEURAL_INTERACTIONS_MIN;
  return { ...method, grid: (data) => (isEnough(data) ? method.grid(data) : []) };
}
