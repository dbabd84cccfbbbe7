import type { AttributeColumn } from "../../shared/attributes.ts";
import { ATTRIBUTE_VALUES_MAX, type SegmentReport } from "../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { didYouMean } from "../../shared/nearest-name.ts";
import { Problem } from "../../shared/problem.ts";
import type { EvaluationDetail } from "./evaluation-detail.ts";
import { measuredBy, metricsOf, recallOf, shareShown, usersWho, type Values } from "./measured-lists.ts";

export type AttributeSegments = { readonly segments: SegmentReport[]; readonly furtherValues: number };

type About = { readonly of: "users" | "items"; readonly seed: number };

/** Rows with one value of the attribute, or with values of one quarter. */
type Group = { readonly name: string; readonly meaning: string; readonly rows: readonly number[] };

/** Resampled values in one interval: many segments are answered at once. */
const DRAWS_MAX = 2_000_000;
const QUARTERS = 4;

/**
 * A segment for each value of an attribute of the users or the items; of numbers and times for each quarter of those that there
 * are. At most 50, those with the most users. Throws Problem unknown_attribute.
 */
export function attributeSegments(detail: EvaluationDetail, attribute: string, { of, seed }: About): AttributeSegments {
  const columns: readonly AttributeColumn[] = of === "users" ? detail.userColumns : detail.itemColumns;
  const column = columns.find(({ name }) => name === attribute);
  if (!column) throw unknownAttribute(attribute, of, columns);
  const groups = groupsOf(column);
  if (of === "users") {
    const shown = groups.sort((a, b) => b.rows.length - a.rows.length).slice(0, ATTRIBUTE_VALUES_MAX);
    const segments = shown.map((group) => userSegment(detail, group, seed));
    return { segments, furtherValues: groups.length - shown.length };
  }
  const wanted = timesWanted(detail);
  const sizes = new Map(groups.map((group) => [group, group.rows.reduce((sum, item) => sum + wanted[item]!, 0)]));
  const shown = groups.sort((a, b) => sizes.get(b)! - sizes.get(a)!).slice(0, ATTRIBUTE_VALUES_MAX);
  return {
    segments: shown.map((group) => itemSegment(detail, group, seed)),
    furtherValues: groups.length - shown.length,
  };
}

function userSegment(detail: EvaluationDetail, { name, meaning, rows }: Group, seed: number): SegmentReport {
  const users = Uint32Array.from(rows);
  const judge = (lists: Int32Array) => measuredBy(metricsOf(detail, lists, users), { seed, drawsMax: DRAWS_MAX });
  const judged = { chosen: judge(detail.chosen), popularity: judge(detail.popularity) };
  return { name, meaning, users: users.length, items: null, share_shown: null, ...judged };
}

function itemSegment(detail: EvaluationDetail, { name, meaning, rows }: Group, seed: number): SegmentReport {
  const isAsked: ReadonlySet<ItemIndex> = new Set(rows as readonly ItemIndex[]);
  const users = usersWho(detail, isAsked);
  const values = (lists: Int32Array): Values => recallOf(detail, lists, { users, isAsked });
  const judge = (lists: Int32Array) => measuredBy(values(lists), { seed, drawsMax: DRAWS_MAX });
  const judged = { chosen: judge(detail.chosen), popularity: judge(detail.popularity) };
  const share = shareShown(detail, detail.chosen, isAsked)[`@${Math.max(...detail.cutOffs)}`] ?? null;
  return { name, meaning, users: users.length, items: rows.length, share_shown: share, ...judged };
}

/** How often each item was chosen by those measured: [itemCount]. */
function timesWanted({ itemIds, relevant }: EvaluationDetail): Uint32Array {
  const counts = new Uint32Array(itemIds.start.length - 1);
  for (const item of relevant) counts[item]!++;
  return counts;
}

function groupsOf(column: AttributeColumn): Group[] {
  if (column.type === "Numerical" || column.type === "Timestamp") return quartersOf(column);
  const rowsOf = new Map<string, number[]>();
  const put = (name: string, row: number) => {
    const rows = rowsOf.get(name);
    if (rows) rows.push(row);
    else rowsOf.set(name, [row]);
  };
  if (column.type === "Boolean") {
    for (const [row, value] of column.values.entries()) if (value !== 255) put(value === 1 ? "true" : "false", row);
  } else if ("start" in column) {
    for (let row = 0; row < column.start.length - 1; row++) {
      const codes = new Set(column.codes.subarray(column.start[row]!, column.start[row + 1]!));
      for (const code of codes) put(column.dictionary[code]!, row);
    }
  }
  return [...rowsOf].map(([name, rows]) => ({ name: name.slice(0, 200), meaning: `its ${quoted(column.name)}`, rows }));
}

/** Four groups of about as many rows each, fewer where values repeat. */
function quartersOf({ name, type, values }: Extract<AttributeColumn, { type: "Numerical" | "Timestamp" }>): Group[] {
  const present = Float64Array.from(values.filter((value) => !Number.isNaN(value))).sort();
  const bounds = Array.from(
    { length: QUARTERS - 1 },
    (_, i) => present[Math.floor((present.length * (i + 1)) / QUARTERS)]!,
  );
  const shown = (value: number) => (type === "Timestamp" ? new Date(value * 1000).toISOString() : String(value));
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

const quoted = (name: string) => JSON.stringify(name.slice(0, 200));

function unknownAttribute(attribute: string, of: About["of"], columns: readonly AttributeColumn[]): Problem {
  const names = columns.map(({ name }) => name);
  const known =
    names.length === 0
      ? `the ${of} have no attributes that were evaluated`
      : `known are ${names.slice(0, 50).map(quoted).join(", ")}`;
  const pointer = of === "users" ? "/user_attribute" : "/item_attribute";
  const message = `${quoted(attribute)} is no attribute of the ${of}${didYouMean(attribute, names)}; ${known}`;
  return new Problem("unknown_attribute", message, { errors: [{ pointer, code: "unknown_attribute", message }] });
}
