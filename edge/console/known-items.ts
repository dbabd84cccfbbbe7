/** The attributes of items that answers have contained, for titles, images and the values that forms offer. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ItemId, RankedItems } from "../client/shortlist.ts";
import { type Attributes, pictureName, TITLE_NAMES, titleName } from "../client/shown-attributes.ts";
import { client } from "./session.ts";

export type { Attributes };

const KNOWN_MAX = 5000;
const SAMPLE_ITEMS = 500;
/** Items whose attributes are offered: each item of a version names all of them. */
const NAMED_ITEMS = 20;
const VALUES_MAX = 100;

/** By id as text: events have ids as text, also where answers have numbers. */
export const knownItems = signal<ReadonlyMap<string, Attributes>>(new Map());

export function rememberRanked({ items, history = [] }: RankedItems): void {
  rememberItems(
    [...items, ...history].flatMap(({ item_id, metadata }) => (metadata ? [{ item_id, attributes: metadata }] : [])),
  );
}

export function rememberItems(found: readonly { item_id: ItemId; attributes: Attributes }[]): void {
  if (found.length === 0) return;
  const all = [...knownItems.value, ...found.map(({ item_id, attributes }) => [String(item_id), attributes] as const)];
  knownItems.value = new Map(all.slice(-KNOWN_MAX));
}

export function forgetItems(): void {
  knownItems.value = new Map();
}

/** Loads popular items of a model, whose attribute values forms then offer. */
export function useSample(model: string): void {
  useEffect(() => {
    const stop = new AbortController();
    forgetItems();
    const query = { limit: SAMPLE_ITEMS, return: ["metadata" as const] };
    client.value.rank(model, query, { signal: stop.signal }).then(rememberRanked, () => {}); // forms then offer fewer values
    return () => stop.abort();
  }, [model]);
}

/** The item's title, or its id. By default, its attributes are those that answers have contained. */
export function titleOf(id: ItemId, attributes: Attributes = knownItems.value.get(String(id)) ?? {}): string {
  const name = titleName(attributes);
  return name ? String(attributes[name]) : String(id);
}

/** What the page may load: a picture by https, or one that is written into its address. */
const PICTURE = /^(https:\/\/|data:image\/)/;

/** Whether a value is a picture that the page may load. */
export const isImage = (value: unknown): boolean => PICTURE.test(String(value));

/** The address of the item's image, if an attribute holds one that the console may load. */
export function imageOf(attributes: Attributes): string | undefined {
  const name = pictureName(attributes, PICTURE);
  return name && String(attributes[name]);
}

/** The attributes that are neither title nor image. */
export const otherAttributes = (attributes: Attributes): (readonly [name: string, value: unknown])[] =>
  Object.entries(attributes).filter(
    ([name, value]) => value !== null && !TITLE_NAMES.test(name) && !/^(https?:\/\/|data:image\/)/.test(String(value)),
  );

/** Values of an attribute that known items have. */
export function valuesOf(attribute: string): string[] {
  const values = [...knownItems.value.values()].flatMap((attributes) => (attributes[attribute] ?? []) as string[]);
  return [...new Set(values.map(String))].sort().slice(0, VALUES_MAX);
}

/** The attributes of known items, without pictures. */
export const attributeNames = (): string[] => [
  ...new Set(
    [...knownItems.value.values()]
      .slice(0, NAMED_ITEMS)
      .flatMap(Object.entries)
      .flatMap(([name, value]) => (isImage(value) ? [] : [name])),
  ),
];

/** A value of the attribute; undefined if no known item has one. */
export const exampleOf = (attribute: string): unknown =>
  [...knownItems.value.values()].map((item) => item[attribute]).find((value) => value != null);

/** The text as a value of the same type as the example. Text that is no number stays text, which the call refuses clearly. */
export function typedLike(example: unknown, text: string): unknown {
  if (Array.isArray(example)) return text.split(",").flatMap((part) => part.trim() || []);
  if (typeof example === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  return typeof example === "boolean" ? text === "true" : text;
}

/** An attribute's value as text. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value.replace(/T00:00:00(\.000)?Z$/, "") : String(value);
}
