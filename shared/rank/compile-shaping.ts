import { filterProblem } from "../filter/filter-problem.ts";
import { type ReferenceValues, resolveFilter } from "../filter/resolve-filter.ts";
import type { ItemId, ItemIndex, UserId } from "../ids.ts";
import type { KnownNames } from "../snapshot.ts";
import { capsOf } from "./caps.ts";
import { type Boost, compileNumberBoost } from "./compile-boost.ts";
import { seedOf } from "./explore.ts";
import type { CompiledShaping } from "./shape.ts";

/** How a list is changed after scoring. The steps are applied in the order of these fields. */
export type Shaping = {
  readonly boosts?: readonly Boost[] | undefined;
  /** 0 to 1: how much an item's likeness to those above it counts, against its score. */
  readonly diversity?: number | undefined;
  /** 0 to 1: the share of places for items with few interactions. */
  readonly exploration?: number | undefined;
  /** Decides the draw of `exploration`. Absent: the user, the day and the version decide. */
  readonly seed?: number | undefined;
  /** The largest number of items with the same value, by attribute. */
  readonly maxPerValue?: ReadonlyMap<string, number> | undefined;
  readonly pinned?: readonly ItemId[] | undefined;
};

type ShapedRequest = {
  readonly userId: UserId | undefined;
  readonly nowSeconds: number;
  readonly valueFor: ReferenceValues;
  /** The names of references without a value are added. */
  readonly missing: Set<string>;
};

const SECONDS_PER_DAY = 86_400;

/** Throws Problem unknown_attribute, filter_type_mismatch, filter_too_large. */
export function compileShaping(
  { boosts = [], diversity = 0, exploration = 0, seed, maxPerValue, pinned = [] }: Shaping,
  { userId, nowSeconds, valueFor, missing }: ShapedRequest,
  snapshot: KnownNames,
): CompiledShaping {
  const table = snapshot.attributes ?? null;
  if (diversity > 0 && table === null)
    throw filterProblem("unknown_attribute", "/diversity", "needs item attributes, which this version does not have");
  const day = Math.floor(nowSeconds / SECONDS_PER_DAY);
  return {
    boosts: boosts.map((boost) => {
      if (!("filter" in boost)) return compileNumberBoost(boost, { nowSeconds, version: snapshot, valueFor, missing });
      return {
        isMatch: snapshot.compileFilter(resolveFilter(boost.filter, valueFor, missing), 1 / boosts.length),
        by: boost.by,
      };
    }),
    diversity,
    exploration,
    seed: seedOf(seed === undefined ? `${userId ?? ""} ${day} ${snapshot.version}` : String(seed)),
    caps: capsOf(maxPerValue ?? new Map(), table),
    pinned: pinned.flatMap((id): ItemIndex[] => {
      const item = snapshot.indexOf(id);
      return item === undefined ? [] : [item];
    }),
    table,
  };
}
