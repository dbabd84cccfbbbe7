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
import { hasRepeats } from "./statistics/valued-histories.ts";

const WITHOUT_COLD_ITEMS: readonly object[] = [popularity, attributeRidge];

const PERSONAL: readonly object[] = [
  localSetRidge,
  standInOnSparseData(graphFilter as Method),
  triedWhere(isSparse, sharpenedFilter as Method),
  standInOnSparseData(implicitAls as Method),
  sequentialRidge,
  sequentialLocalRidge,
  triedWhere(hasRepeats, sessionWalk as Method),
  triedWhere((data) => hasPositive(data, POOLED_FROM), pooledHistory as Method),
  triedWhere((data) => hasPositive(data, SASREC_FROM), sasrec as Method),
];

const byName = (methods: readonly Method[]) => Object.fromEntries(methods.map((method) => [method.name, method]));

/** Every method by its name. Personal methods and blends also place cold items. */
export const METHODS: Readonly<Record<string, Method>> = byName([
  ...(WITHOUT_COLD_ITEMS as readonly Method[]),
  ...(PERSONAL as readonly Method[]).map(withColdItems),
  ...standardBlends(byName(PERSONAL as readonly Method[])),
]);

/** The same method with an empty grid on data that do not suit it, which is found out once, since it may take a pass over all rows. */
function triedWhere(isSuited: (data: TrainingData) => boolean, method: Method): Method {
  const known = new WeakMap<TrainingData, boolean>();
  const suits = (data: TrainingData) => {
    const answer = known.get(data) ?? isSuited(data);
    known.set(data, answer);
    return answer;
  };
  return { ...method, grid: (data) => (suits(data) ? method.grid(data) : []) };
}

/**
 * Two hops read interactions at each rank call. With more interactions for each pair of items, `graph_filter` has fewer weights to read,
 * and on ml-100k it ranks better.
 */
const ENTRIES_PER_PAIR_MAX = 0.01;

/** There the sharpened filter ranks as well or better in the same time (LOG.md, "Stand-ins on sparse data"). */
function standInOnSparseData(method: Method): Method {
  return { ...method, standsInFor: (data) => (isSparse(data) ? [sharpenedFilter.name] : []) };
}

function isSparse({ items, itemCount }: TrainingData): boolean {
  return items.length < ENTRIES_PER_PAIR_MAX * itemCount ** 2;
}

/** Positive interactions from which a network may rank better than closed forms (LOG.md, "Networks on small data"). */
const SASREC_FROM = 10_000;
const POOLED_FROM = 20_000;

function hasPositive({ items, positive }: TrainingData, least: number): boolean {
  if (items.length < least) return false;
  return positive.reduce((count, is) => count + is, 0) >= least;
}
