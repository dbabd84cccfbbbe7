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

type Version = Pick<LoadedVersion, "attributes" | "manifest">;

/** Whether an item that a version was not trained with is one of its new items. */
export const isNewIn = ({ attributes, manifest }: Version, state: ItemState = UNCHANGED_ITEM): boolean =>
  attributes !== null && state.newAt !== null && state.newAt >= (manifest.changes_from ?? 0) * 1000;

/**
 * An item as rank calls see it. A changed value that the version's data have overtaken does not hold, and is not shown.
 *
 * @param item Undefined for a new item. All of its values hold, since there are no others.
 */
export function shownItem(version: Version, item: ItemIndex | undefined, state: ItemState = UNCHANGED_ITEM) {
  const { attributes, manifest } = version;
  const { hidden, attributes: changed, ...since } = shownChange(state);
  const source = attributes === null || item === undefined ? {} : attributesOf(attributes, item);
  const from = item === undefined ? 0 : (manifest.changes_from ?? 0) * 1000;
  const shown = [...(attributes?.columns.keys() ?? [])].map((name): [string, ShownValue] => {
    const original = Object.hasOwn(source, name) ? source[name]! : null;
    const holds = Object.hasOwn(changed, name) && state.values[name]!.at >= from;
    return [name, { ...(holds ? changed[name]! : { value: original }), source: original }];
  });
  const added = item === undefined && { new: true, new_since: timeOf(state.newAt!) };
  return { hidden, ...since, ...added, attributes: Object.fromEntries(shown) };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
