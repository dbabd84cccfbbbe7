import type { AttributeColumn } from "../../../shared/attributes.ts";
import { clipped } from "../../../shared/clipped.ts";
import { ATTRIBUTE_VALUES_MAX, type SegmentReport } from "../../../shared/evaluation-report.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import { Problem } from "../../../shared/problem.ts";
import { areKeys } from "../../read/dataset/key-numbers.ts";
import type { EvaluationDetail } from "./evaluation-detail.ts";
import {
  fractionOfPlaces,
  hitsOf,
  maskOf,
  measuredBy,
  placesOf,
  recallOf,
  usersWho,
  type Values,
  valuesOf,
} from "./measured-lists.ts";

export type AttributeGroups = { readonly groups: readonly Group[]; readonly furtherValues: number };

/** Figures of the same users' lists, by the chosen model and by popularity. */
export type Evaluated = { readonly chosen: Values; readonly popularity: Values };

/** Lists or items that make one segment. */
export type Group = { readonly name: string; readonly meaning: string; readonly rows: readonly number[] };

/** Upper bounds of the users drawn for one segment and for all segments of an answer; evaluate/bootstrap.ts has a minimum. */
const DRAWS_MAX = { segment: 2_000_000, all: 20_000_000 };
const QUARTERS = 4;
/** The latest time, in seconds from 1970, that a JavaScript Date can hold. */
const DATE_SECONDS_MAX = 8.64e12;

/** The column of an attribute of the users or the items. Throws Problem unknown_attribute. */
export function attributeColumn(detail: EvaluationDetail, attribute: string, of: "users" | "items"): AttributeColumn {
  const columns: readonly AttributeColumn[] = of === "users" ? detail.userColumns : detail.itemColumns;
  const column = columns.find(({ name }) => name === attribute);
  if (!column) throw unknownAttribute(attribute, of, columns);
  return column;
}

/** The lists of an evaluation, and the owner of each list: a user may have several lists. */
export type OwnedLists = { readonly detail: EvaluationDetail; readonly owners: Uint32Array; readonly seed: number };

/** A segment for each group of lists. @param everybody Figures of each list. */
export function userSegments(lists: OwnedLists, groups: readonly Group[], everybody: Evaluated): SegmentReport[] {
  const segments = groups.map(({ name, meaning, rows }) => {
    const some = Uint32Array.from(rows);
    const figures = { chosen: valuesOf(everybody.chosen, some), popularity: valuesOf(everybody.popularity, some) };
    return { name, meaning, lists: some, items: null, share_shown: null, ...figures };
  });
  return withIntervals(lists, segments);
}

/** A segment for each group of items: the recall of these items only, and the fraction of all places that they take. */
export function itemSegments(lists: OwnedLists, groups: readonly Group[]): SegmentReport[] {
  const { detail } = lists;
  const hits = { chosen: hitsOf(detail, detail.chosen), popularity: hitsOf(detail, detail.popularity) };
  const places = placesOf(detail, detail.chosen, Math.max(...detail.cutOffs));
  const segments = groups.map(({ name, meaning, rows }) => {
    const isWanted = maskOf(detail, rows);
    const who = usersWho(detail, isWanted);
    const figures = {
      chosen: recallOf(detail, hits.chosen, isWanted, who),
      popularity: recallOf(detail, hits.popularity, isWanted, who),
    };
    const share_shown = fractionOfPlaces(places, rows);
    return { name, meaning, lists: who.users, items: rows.length, share_shown, ...figures };
  });
  return withIntervals(lists, segments);
}

/** A segment before its intervals, with its lists. */
type Segment = Omit<SegmentReport, keyof Evaluated | "users"> & Evaluated & { readonly lists: Uint32Array };

function withIntervals({ owners, seed }: OwnedLists, segments: readonly Segment[]): SegmentReport[] {
  const ownersOf = segments.map(({ lists }) => lists.map((list) => owners[list]!));
  const usersOf = ownersOf.map((own) => new Set(own).size);
  const all = usersOf.reduce((sum, users) => sum + users, 0);
  return segments.map(({ lists: _, ...segment }, i) => {
    const users = usersOf[i]!;
    const drawsMax = Math.min(DRAWS_MAX.segment, (DRAWS_MAX.all * users) / Math.max(1, all));
    const measured = measuredBy([segment.chosen, segment.popularity], { seed, drawsMax, owners: ownersOf[i]! });
    return { ...segment, users, chosen: measured[0]!, popularity: measured[1]! };
  });
}

/**
 * The groups of lists with each value of an attribute of their users, or in each quarter of the values of a number or time: at most 50,
 * the ones with the most lists.
 */
export const userGroups = (column: AttributeColumn): AttributeGroups =>
  largest(groupsOf(column), ({ rows }) => rows.length);

/** Like userGroups for items, the ones that were chosen most. */
export function itemGroups({ itemIds, relevant }: EvaluationDetail, column: AttributeColumn): AttributeGroups {
  const wanted = new Uint32Array(itemIds.start.length - 1);
  for (const item of relevant) wanted[item]!++;
  return largest(groupsOf(column), ({ rows }) => rows.reduce((sum, item) => sum + wanted[item]!, 0));
}

function largest(groups: readonly Group[], sizeOf: (group: Group) => number): AttributeGroups {
  const sized = groups.map((group) => ({ group, size: sizeOf(group) })).sort((a, b) => b.size - a.size);
  const shown = sized.slice(0, ATTRIBUTE_VALUES_MAX).map(({ group }) => group);
  return { groups: shown, furtherValues: groups.length - shown.length };
}

/** Numbers that name categories have a group each where they have this many users or items on average. */
const KEY_ROWS_MIN = 2;

function groupsOf(column: AttributeColumn): Group[] {
  const isNumber = column.type === "Numerical" || column.type === "Timestamp";
  if (isNumber && !areKeys(column, KEY_ROWS_MIN)) return quartersOf(column);
  const rowsOf = new Map<string, number[]>();
  const put = (name: string, row: number) => {
    const rows = rowsOf.get(name);
    if (rows) rows.push(row);
    else rowsOf.set(name, [row]);
  };
  if (column.type === "Boolean") {
    for (const [row, value] of column.values.entries()) if (value !== 255) put(value === 1 ? "true" : "false", row);
  } else if (isNumber) {
    for (const [row, value] of column.values.entries()) if (!Number.isNaN(value)) put(String(value), row);
  } else if ("start" in column) {
    for (let row = 0; row < column.start.length - 1; row++) {
      const codes = new Set(column.codes.subarray(column.start[row]!, column.start[row + 1]!));
      for (const code of codes) put(column.dictionary[code]!, row);
    }
  }
  return [...rowsOf].map(([name, rows]) => ({ name: clipped(name, 200), meaning: `its ${quoted(column.name)}`, rows }));
}

/** Four groups of about equal size; fewer when values repeat. */
function quartersOf({ name, type, values }: Extract<AttributeColumn, { type: "Numerical" | "Timestamp" }>): Group[] {
  const present = Float64Array.from(values.filter((value) => !Number.isNaN(value))).sort();
  const bounds = Array.from(
    { length: QUARTERS - 1 },
    (_, i) => present[Math.floor((present.length * (i + 1)) / QUARTERS)]!,
  );
  const shown = (value: number) =>
    type === "Timestamp" && Math.abs(value) <= DATE_SECONDS_MAX ? new Date(value * 1000).toISOString() : String(value);
  const rowsOf: number[][] = Array.from({ length: QUARTERS }, () => []);
  for (const [row, value] of values.entries()) {
    if (!Number.isNaN(value)) rowsOf[bounds.filter((bound) => value >= bound).length]!.push(row);
  }
  return rowsOf
    .filter((rows) => rows.length > 0)
    .map((rows) => {
      const own = rows.map((row) => values[row]!).sort((a, b) => a - b);
      const span = `${shown(own[0]!)} to ${shown(own.at(-1)!)}`;
      return { name: span, meaning: `a quarter of the values of ${quoted(name)}`, rows };
    });
}

const quoted = (name: string) => JSON.stringify(clipped(name, 200));

function unknownAttribute(attribute: string, of: "users" | "items", columns: readonly AttributeColumn[]): Problem {
  const names = columns.map(({ name }) => name);
  const known =
    names.length === 0
      ? `the ${of} have no attributes that were evaluated`
      : `known are ${names.slice(0, 50).map(quoted).join(", ")}`;
  const pointer = of === "users" ? "/user_attribute" : "/item_attribute";
  const message = `${quoted(attribute)} is no attribute of the ${of}${didYouMean(attribute, names)}; ${known}`;
  return new Problem("unknown_attribute", message, { errors: [{ pointer, code: "unknown_attribute", message }] });
}
