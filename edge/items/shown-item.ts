/** Items and their changes as answers show them. */
import { type AttributeValue, attributesOf, isSameValue, storedValueAt } from "../../shared/attribute-values.ts";
import { type ItemId, type ItemIndex, itemIdToJson } from "../../shared/ids.ts";
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

/** Whether the version's extension scores a new item. */
export function isPlaced({ catalog, newCount = 0, placed }: LoadedVersion, id: ItemId): boolean {
  const item = catalog.indexOf(id);
  return item !== undefined && (placed?.items.includes(item - (catalog.itemCount - newCount)) ?? false);
}

type Source = Pick<LoadedVersion, "catalog" | "attributes">;

/** Whether a new item was withdrawn. It keeps its index, hidden and without values, until the version leaves memory. */
export const isWithdrawnNew = ({ attributes, isHidden }: LoadedVersion, item: ItemIndex, source: Source): boolean =>
  item >= source.catalog.itemCount &&
  isHidden!(item) &&
  [...attributes!.columns.values()].every((column) => [storedValueAt(column, item) ?? []].flat().length === 0);

/**
 * An item as lists of items show it: with the values that rank calls use, and the names of those that the version was not trained with.
 *
 * @param source The version without its changes.
 */
export function foundItem({ catalog, attributes, isHidden }: LoadedVersion, item: ItemIndex, source: Source) {
  const isNew = item >= source.catalog.itemCount;
  const isChanged = (name: string) => {
    const [now, original] = [attributes!.columns.get(name)!, source.attributes!.columns.get(name)!];
    return now !== original && !isSameValue(storedValueAt(now, item), storedValueAt(original, item));
  };
  const changed = isNew ? [] : [...(attributes?.columns.keys() ?? [])].filter(isChanged);
  return {
    item_id: itemIdToJson(catalog.idAt(item), catalog.itemIdType),
    hidden: isHidden?.(item) ?? false,
    ...(isNew && { new: true }),
    attributes: attributes === null ? {} : attributesOf(attributes, item),
    ...(changed.length > 0 && { changed }),
  };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
