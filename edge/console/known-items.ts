/** The attributes of items that answers have contained, for titles, images and the values that forms offer. */
import { signal } from "@preact/signals";
import type { ItemId, RankedItems, Shortlist } from "../client/shortlist.ts";
import { type Attributes, pictureName, TITLE_NAMES, titleName } from "../client/shown-attributes.ts";

export type { Attributes };

const KNOWN_MAX = 5000;
const SAMPLE_ITEMS = 500;
/** Items whose attributes are offered: each item of a version names all of them. */
const NAMED_ITEMS = 20;
const VALUES_MAX = 100;

/** By id as text: events have ids as text, also where answers have numbers. */
export const knownItems = signal<ReadonlyMap<string, Attributes>>(new Map());

export function rememberItems({ items, history = [] }: RankedItems): void {
  const found = [...items, ...history].filter(({ metadata }) => metadata !== undefined);
  if (found.length === 0) return;
  const all = [...knownItems.value, ...found.map(({ item_id, metadata }) => [String(item_id), metadata!] as const)];
  knownItems.value = new Map(all.slice(-KNOWN_MAX));
}

export function forgetItems(): void {
  knownItems.value = new Map();
}

/** Loads popular items, whose attribute values forms then offer. */
export async function loadSample(client: Shortlist, model: string, signal: AbortSignal): Promise<void> {
  rememberItems(await client.rank(model, { limit: SAMPLE_ITEMS, return: ["metadata"] }, { signal }));
}

/** The item's title, or its id. */
export function titleOf(id: ItemId): string {
  const attributes = knownItems.value.get(String(id)) ?? {};
  const name = titleName(attributes);
  return name ? String(attributes[name]) : String(id);
}

/** The address of the item's image, if an attribute holds one that the console may load. */
export function imageOf(attributes: Attributes): string | undefined {
  const name = pictureName(attributes, /^https:\/\//);
  return name && String(attributes[name]);
}

/** The attributes that are neither title nor image. */
export const otherAttributes = (attributes: Attributes): (readonly [name: string, value: unknown])[] =>
  Object.entries(attributes).filter(
    ([name, value]) => value !== null && !TITLE_NAMES.test(name) && !/^https?:\/\//.test(String(value)),
  );

/** Values of an attribute that known items have. */
export function valuesOf(attribute: string): string[] {
  const values = [...knownItems.value.values()].flatMap((attributes) => (attributes[attribute] ?? []) as string[]);
  return [...new Set(values.map(String))].sort().slice(0, VALUES_MAX);
}

/** The attributes of known items. */
export const attributeNames = (): string[] => [
  ...new Set([...knownItems.value.values()].slice(0, NAMED_ITEMS).flatMap(Object.keys)),
];

/** A value of the attribute; undefined if no known item has one. */
export const exampleOf = (attribute: string): unknown =>
  [...knownItems.value.values()].map((item) => item[attribute]).find((value) => value != null);

/** An attribute's value as text. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value.replace(/T00:00:00(\.000)?Z$/, "") : String(value);
}
