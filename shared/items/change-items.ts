/** The changes of items that a customer sends (`PATCH …/items`), and how they join what was changed before. */
import * as z from "zod";
import type { AttributeValue } from "../attribute-values.ts";
import type { TableColumn } from "../attributes.ts";
import { epochSecondsIn } from "../filter/epoch-seconds.ts";
import { Id } from "../id-schema.ts";
import { shown } from "../parse-request.ts";
import { storable } from "./changed-column.ts";

export const CHANGES_MAX = 1000;
/** Limit on the body of `PATCH …/items`. */
export const ITEMS_BODY_BYTES_MAX = 262_144;
/** Clocks of callers may be ahead of ours by this much. */
export const CHANGE_FUTURE_SECONDS_MAX = 300;
/** The longest text that an attribute can be changed to. Every edge keeps it in memory. */
const TEXT_CHARACTERS_MAX = 1000;
const LIST_ENTRIES_MAX = 100;
/** The names of a version's attributes are no longer. */
const NAME_CHARACTERS_MAX = 1000;

const Text = z
  .string()
  .max(TEXT_CHARACTERS_MAX)
  .refine(
    (text) => text.isWellFormed() && !text.includes("\0"),
    "must be well-formed Unicode without the character NUL",
  );

export const ChangedValue = z.union([Text, z.number(), z.boolean(), z.array(Text).max(LIST_ENTRIES_MAX), z.null()]);

const Time = z
  .string()
  .max(40)
  .transform((text, context) => {
    const seconds = epochSecondsIn(text);
    if (seconds !== undefined && seconds >= 0) return seconds;
    context.addIssue({ code: "custom", message: `must be a time in RFC 3339 from 1970 on, found ${shown(text)}` });
    return z.NEVER;
  })
  .meta({
    description:
      "When the change was made, in RFC 3339; now if absent. At most five minutes in the future. A change that is older than what is " +
      "stored of the same field is ignored.",
    examples: ["2026-11-24T09:30:00Z"],
    format: "date-time",
  });

export const ItemChange = z
  .strictObject({
    item_id: Id,
    attributes: z
      .record(z.string().max(NAME_CHARACTERS_MAX), ChangedValue)
      .nullable()
      .optional()
      .meta({
        description:
          "New values by attribute, of the types that the live version has. A value of null takes the attribute's value away. Null in " +
          "place of the object withdraws all changed values of the item.",
        examples: [{ price: 19.9, in_stock: false }],
      }),
    hidden: z.boolean().optional().meta({
      description: "True: the item is in no answer of any kind, also where it is pinned, until this is false.",
    }),
    at: Time.optional(),
  })
  .refine(({ attributes, hidden }) => attributes !== undefined || hidden !== undefined, {
    message: "must have attributes, hidden or both",
  });

/** The body of `PATCH …/items`. */
export const ItemsBody = z.strictObject({ items: z.array(ItemChange).min(1).max(CHANGES_MAX) });

/** One change of an item, at epoch milliseconds `at`. Null attributes withdraw all changed values. */
export type TimedChange = {
  readonly attributes?: Readonly<Record<string, AttributeValue | null>> | null | undefined;
  readonly hidden?: boolean | undefined;
  readonly at: number;
  /** True: the live version does not have the item. */
  readonly isNew?: boolean | undefined;
};

/** All that is known of an item's changes. Times are epoch milliseconds. */
export type ItemState = {
  readonly hidden: boolean;
  /** The last change of `hidden`; null: it was never changed. */
  readonly hiddenAt: number | null;
  /** When all changed values were last withdrawn. */
  readonly withdrawnAt: number | null;
  readonly values: Readonly<Record<string, { readonly value: AttributeValue | null; readonly at: number }>>;
  /** When attributes were last sent while the live version did not have the item. Null: never, or they were withdrawn. */
  readonly newAt: number | null;
};

export const UNCHANGED_ITEM: ItemState = {
  hidden: false,
  hiddenAt: null,
  withdrawnAt: null,
  values: {},
  newAt: null,
};

/** Whether the item differs from the source's. If not, its state only orders changes that arrive late. */
export const isChanged = ({ hidden, values }: ItemState): boolean => hidden || Object.keys(values).length > 0;

/** The time of the last change of an item. */
export const lastChangeOf = ({ hiddenAt, withdrawnAt, values }: ItemState): number =>
  Object.values(values).reduce((last, { at }) => Math.max(last, at), Math.max(hiddenAt ?? 0, withdrawnAt ?? 0));

/**
 * The state after a change. Each field has its own order: a change of a field is ignored if a later one is known, and of two at the same
 * time, the one that arrives last holds. Undefined: the whole change is older than what is known.
 */
export function changedState(before: ItemState, { attributes, hidden, at, isNew }: TimedChange): ItemState | undefined {
  let state = before;
  if (hidden !== undefined && at >= (state.hiddenAt ?? 0)) state = { ...state, hidden, hiddenAt: at };
  if (attributes === null && at >= (state.withdrawnAt ?? 0)) {
    const later = Object.entries(state.values).filter(([, value]) => value.at > at);
    const isNewer = state.newAt !== null && state.newAt > at;
    state = { ...state, withdrawnAt: at, values: Object.fromEntries(later), newAt: isNewer ? state.newAt : null };
  }
  const newer = Object.entries(attributes ?? {}).filter(([name]) => {
    const known = Object.hasOwn(state.values, name) ? state.values[name]!.at : 0;
    return at >= Math.max(known, state.withdrawnAt ?? 0);
  });
  if (newer.length > 0) {
    const changed = newer.map(([name, value]) => [name, { value, at }] as const);
    const values = Object.fromEntries([...Object.entries(state.values), ...changed]);
    state = { ...state, values, newAt: isNew ? Math.max(at, state.newAt ?? 0) : state.newAt };
  }
  return state === before ? undefined : state;
}

const EXPECTED: Readonly<Record<TableColumn["type"], string>> = {
  Boolean: "true or false",
  Numerical: "a number",
  Timestamp: "a time in RFC 3339 or a number of epoch seconds",
  Category: "a string",
  Text: "a string",
  CategoryList: "a list of strings",
  Location: 'a string "lat,lon"',
};

/** Why a value cannot be one of the column; undefined if it can. */
export const valueFault = (column: TableColumn, value: AttributeValue | null): string | undefined =>
  storable(column, value) === undefined
    ? `must be ${EXPECTED[column.type]}, or null, found ${shown(value)}`
    : undefined;
