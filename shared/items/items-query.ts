/** What `GET …/items` is asked for: a search, or the changed items. */
import * as z from "zod";
import { CURSOR_CHARACTERS_MAX, integerIn, ListLimit, listCodeOf, uniqueParameters } from "../api.ts";
import { type Filter, parseFilter } from "../filter/parse-filter.ts";
import { textFault } from "../id-schema.ts";
import type { ItemId } from "../ids.ts";
import { parseWith, problemOf, shown } from "../parse-request.ts";
import { WORDS_MAX, wordsOf } from "./words-in-text.ts";

export const SEARCH_CHARACTERS_MAX = 200;
/** No catalog has more items. */
export const SEARCH_OFFSET_MAX = 10_000_000;
const OFFSET_SENTENCE = `must be an integer from 0 to ${SEARCH_OFFSET_MAX}`;

const ChangedQuery = z.strictObject({
  changed: z.literal("true"),
  limit: ListLimit,
  cursor: z.string().min(1).max(CURSOR_CHARACTERS_MAX).optional(),
});

const SearchQuery = z.strictObject({
  search: z
    .string()
    .max(SEARCH_CHARACTERS_MAX)
    .refine((text) => wordsOf(text).length <= WORDS_MAX, `must have at most ${WORDS_MAX} words`)
    .default(""),
  /** JSON text, which its own parser checks. */
  retrieval: z.string().optional(),
  limit: ListLimit,
  offset: z
    .int({ error: (issue) => `${OFFSET_SENTENCE}, found ${shown(issue.input)}` })
    .min(0, OFFSET_SENTENCE)
    .max(SEARCH_OFFSET_MAX, OFFSET_SENTENCE)
    .default(0),
});

/** `after`: the id that the page comes after. */
export type ChangedItemsQuery = { readonly changed: true; readonly limit: number; readonly after: string };
export type SearchItemsQuery = {
  readonly changed: false;
  readonly search: string;
  readonly filter: Filter | undefined;
  readonly limit: number;
  readonly offset: number;
};

/** `GET …/items?changed=true&limit=&cursor=` or `GET …/items?search=&retrieval=&limit=&offset=`. Throws Problem. */
export function parseItemsQuery(query: URLSearchParams): ChangedItemsQuery | SearchItemsQuery {
  const { limit, offset, ...texts } = uniqueParameters(query);
  const sent = {
    ...texts,
    ...(limit !== undefined && { limit: integerIn(limit) ?? limit }),
    ...(offset !== undefined && { offset: integerIn(offset) ?? offset }),
  };
  if ("changed" in sent) {
    const parsed = parseWith(ChangedQuery, sent, { codeOf: listCodeOf });
    const after = parsed.cursor === undefined ? "" : idOfCursor(parsed.cursor);
    return { changed: true, limit: parsed.limit, after };
  }
  const { retrieval, ...parsed } = parseWith(SearchQuery, sent, { codeOf: listCodeOf });
  return { changed: false, ...parsed, filter: retrieval === undefined ? undefined : parseFilter(jsonIn(retrieval)) };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const message = `must be JSON such as {"price": {"$lt": 80}}, found ${shown(text)}`;
    throw problemOf([{ pointer: "/retrieval", code: "invalid_filter", message }]);
  }
}

/** The cursor of a page that comes after an item: its id in UTF-8 as base64url. */
export const cursorOfItem = (id: ItemId): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(id)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

function idOfCursor(cursor: string): string {
  try {
    const bytes = Uint8Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (unit) => unit.charCodeAt(0));
    const id = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (textFault(id) === undefined) return id;
  } catch {
    // refused below
  }
  throw problemOf([{ pointer: "/cursor", code: "invalid_parameter", message: "must be the next_cursor of an answer" }]);
}
