import type { AttributeTable, KeyedColumn, TableColumn } from "./attributes.ts";
import type { ItemIndex } from "./ids.ts";
import { didYouMean } from "./nearest-name.ts";
import { stringAt } from "./packed-strings.ts";
import { NO_PLACE, type Places, pairOf, placeAt } from "./place.ts";

export type AttributeValue = string | number | boolean | string[];

const NAMES_SHOWN = 50;

/** Calls `visit` with the key of each of an item's values. Equal values of one attribute have equal keys; places have none. */
export function forEachKey(column: TableColumn, item: ItemIndex, visit: (key: number) => void): void {
  if (column.type === "CategoryList") {
    for (let at = column.start[item]!; at < column.start[item + 1]!; at++) visit(column.keys[at]!);
    return;
  }
  if (column.type === "Location") return;
  const key = column.keys[item]!;
  const isPlain = "form" in column && column.form === "plain";
  if (isPlain ? !Number.isNaN(key) : key !== 0) visit(key);
}

/**
 * An item's attributes by name, without those that have no value. Times are RFC 3339, places "lat,lon"; the elements of
 * lists are sorted.
 */
export function attributesOf(table: AttributeTable, item: ItemIndex): Record<string, AttributeValue> {
  const named = [...table.columns].flatMap(([name, column]): [string, AttributeValue][] => {
    const values = column.type === "Location" ? pairsAt(column, item) : keyedValues(column, item, readKey);
    if (values.length === 0) return [];
    return [[name, column.type === "CategoryList" ? (values as string[]) : values[0]!]];
  });
  return Object.fromEntries(named);
}

/** An item's value as the column stores it, with times in epoch seconds; null: missing. */
export function storedValueAt(column: TableColumn, item: ItemIndex): AttributeValue | null {
  if (column.type === "Location") return pairsAt(column, item)[0] ?? null;
  const values = keyedValues(column, item, storedValue);
  if (column.type === "CategoryList") return values as string[];
  return values[0] ?? null;
}

/** Whether two stored values are the same; null: missing. */
export const isSameValue = (a: AttributeValue | null, b: AttributeValue | null): boolean =>
  Array.isArray(a) && Array.isArray(b) ? a.length === b.length && a.every((text, i) => text === b[i]) : a === b;

function keyedValues(column: KeyedColumn, item: ItemIndex, read: (column: KeyedColumn, key: number) => AttributeValue) {
  const values: AttributeValue[] = [];
  forEachKey(column, item, (key) => values.push(read(column, key)));
  return values;
}

/** An item's place as the text "lat,lon"; none if it has no place. */
const pairsAt = (places: Places, item: ItemIndex): string[] =>
  places.lat[item] === NO_PLACE ? [] : [pairOf(placeAt(places, item))];

function readKey(column: KeyedColumn, key: number): AttributeValue {
  const value = storedValue(column, key);
  return column.type === "Timestamp" ? timeOf(value as number) : value;
}

function storedValue(column: KeyedColumn, key: number): AttributeValue {
  if (column.type === "Boolean") return key === 2;
  if ("dictionary" in column) return stringAt(column.dictionary, key - 1);
  if (column.form === "coded") return column.values[key - 1]!;
  return column.form === "based" ? column.base + key - 1 : key;
}

/** RFC 3339 of epoch seconds. Times that it cannot express stay numbers. */
function timeOf(seconds: number): string | number {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? seconds : time.toISOString();
}

/** The end of an error text for a name that is not an attribute. */
export const notAnAttribute = (name: string, known: readonly string[]): string =>
  `is not an attribute${didYouMean(name, known)}; known are ${known.slice(0, NAMES_SHOWN).join(", ")}`;
