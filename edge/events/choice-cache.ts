/** Counts of what users have chosen lately, kept for some seconds. */
import type { Catalog } from "../../shared/catalog.ts";
import type { ItemId, ItemIndex } from "../../shared/ids.ts";
import type { Choices, LiveChoices } from "../../shared/recent-choices.ts";
import { type RefreshedCache, refreshedCache } from "../reading/refreshed-cache.ts";

const VERSIONS_MAX = 200;
const KEPT_MS = 60_000;

export type CountedChoices = { readonly items: ReadonlyMap<ItemId, Choices>; readonly totals: Choices };
export type ChoiceCache = {
  readonly counted: RefreshedCache<CountedChoices>;
  /** The counts by the indices of the catalog that used them last. */
  readonly indexed: WeakMap<CountedChoices, { readonly catalog: Catalog; readonly choices: LiveChoices }>;
};

/** Caches the counts of each version; a list is at most twice `cacheMs` behind. */
export const choiceCache = (cacheMs: number): ChoiceCache => ({
  counted: refreshedCache({ freshMs: cacheMs, servableMs: 2 * cacheMs, keptMs: KEPT_MS, absentMs: 0 }, VERSIONS_MAX),
  indexed: new WeakMap(),
});

/** The choices by the item indices of a catalog. */
export function indexedBy(catalog: Catalog, counted: CountedChoices, { indexed }: ChoiceCache): LiveChoices {
  const known = indexed.get(counted);
  if (known?.catalog === catalog) return known.choices;
  const items = new Map<ItemIndex, Choices>();
  for (const [id, choices] of counted.items) {
    const item = catalog.indexOf(id);
    if (item !== undefined) items.set(item, choices);
  }
  const choices = { items, totals: counted.totals };
  indexed.set(counted, { catalog, choices });
  return choices;
}
