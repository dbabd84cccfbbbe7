/** Items and their changes as answers show them. */
import { type AttributeValue, attributesOf } from "../../shared/attribute-values.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { type ItemState, UNCHANGED_ITEM } from "../../shared/items/change-items.ts";
import type { LoadedVersion } from "../versions/load-version.ts";

type ShownValue = { readonly value: AttributeValue | null; readonly source: AttributeValue | null };

/** The changes of an item, also those that do not hold in the live version. */
export function shownChange({ hidden, hiddenAt, values }: ItemState) {
  const named = Object.entries(values).map(([name, { value, at }]) => [name, { value, changed_at: timeOf(at) }]);
  return {
    hidden,
    ...(hidden && { hidden_since: timeOf(hiddenAt!) }),
    attributes: Object.fromEntries(named) as Record<string, { value: AttributeValue | null; changed_at: string }>,
  };
}

/** An item as rank calls see it. A changed value that the version's data have overtaken does not hold, and is not shown. */
export function shownItem(
  { attributes, manifest }: Pick<LoadedVersion, "attributes" | "manifest">,
  item: ItemIndex,
  state: ItemState = UNCHANGED_ITEM,
) {
  const { hidden, attributes: changed, ...since } = shownChange(state);
  const source = attributes === null ? {} : attributesOf(attributes, item);
  const shown = [...(attributes?.columns.keys() ?? [])].map((name): [string, ShownValue] => {
    const original = Object.hasOwn(source, name) ? source[name]! : null;
    const holds = Object.hasOwn(changed, name) && state.values[name]!.at >= (manifest.changes_from ?? 0) * 1000;
    return [name, { ...(holds ? changed[name]! : { value: original }), source: original }];
  });
  return { hidden, ...since, attributes: Object.fromEntries(shown) };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
