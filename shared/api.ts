import * as z from "zod";
import { RETRIEVAL_REF } from "./filter/filter-schema.ts";
import {
  FILTER_BYTES_MAX,
  FILTER_DEPTH_MAX,
  FILTER_OPERATORS,
  FILTER_TESTS_MAX,
  FILTER_VALUES_MAX,
  parseFilter,
} from "./filter/parse-filter.ts";
import { Id, textFault } from "./id-schema.ts";
import type { ItemId, UserId } from "./ids.ts";
import {
  basketOf,
  defaultsOfLists,
  defaultsOfSimilar,
  ListFields,
  offsetOf,
  RankListFields,
  SimilarFields,
  seenOf,
} from "./list-fields.ts";
import { ModelStatus } from "./live-pointer.ts";
import { ERRORS_MAX, type ParseOptions, parseWith, pointerStep, problemOf, shown } from "./parse-request.ts";
import type { ProblemPart } from "./problem.ts";
import type { RankRequest } from "./rank.ts";
import { ReferenceFields } from "./reference-fields.ts";
import { type Detail, detailsOf, Return, ShapingFields, shapingOf } from "./shaping-fields.ts";

export const RANK_LIMIT_DEFAULT = 15;
export const RANK_LIMIT_MAX = 500;
export const SESSION_MAX = 500;
export const ITEM_IDS_MAX = 1000;
const SCENARIO_NAME_MAX = 63;

/** Limit on the body of a rank call. */
export const RANK_BODY_BYTES_MAX = 65_536;
/** Limit on the body of every other call. */
export const MANAGEMENT_BODY_BYTES_MAX = 262_144;
/** An X-Request-Id of this form is used as it is; any other is replaced. */
export const REQUEST_ID = /^[A-Za-z0-9_.-]{8,128}$/;

export const LIST_LIMIT_DEFAULT = 50;
export const LIST_LIMIT_MAX = 100;
/** A name has no more characters. */
export const NAME_PART_MAX = 63;
export const CURSOR_CHARACTERS_MAX = 500;

const LIMIT_SENTENCE = `must be an integer from 1 to ${RANK_LIMIT_MAX}`;
export const CommonFields = z.strictObject({
  user_id: Id.optional(),
  limit: z
    .int({ error: (issue) => `${LIMIT_SENTENCE}, found ${shown(issue.input)}` })
    .min(1, LIMIT_SENTENCE)
    .max(RANK_LIMIT_MAX, LIMIT_SENTENCE)
    .default(RANK_LIMIT_DEFAULT),
  ...ListFields,
  /** Checked by its own parser, whose errors are more precise. */
  retrieval: z
    .unknown()
    .optional()
    .meta({
      description:
        "Which items may be in the answer: a subset of MongoDB's query language over item attributes and the item id. " +
        `Operators: ${FILTER_OPERATORS.join(" ")}. On a list attribute a test holds if any element passes it. ` +
        'A value may be a reference such as `{"$user": "country", "default": "DE"}`, from `$user`, `$item` or `$context`: see Reference. ' +
        `At most ${FILTER_BYTES_MAX / 1024} KiB of JSON, ${FILTER_DEPTH_MAX} levels, ${FILTER_TESTS_MAX} tests, ` +
        `${FILTER_VALUES_MAX} values in a list.`,
      examples: [{ category: { $in: ["lamps", "rugs"] }, price: { $lt: 80 } }],
      $ref: RETRIEVAL_REF,
    }),
  exclude_seen: z.boolean().optional().meta({
    description: "Whether items that the user has seen are left out. Default: true, but false with `item_ids`.",
  }),
  scenario: z.string().max(SCENARIO_NAME_MAX).optional().meta({
    description:
      "The name of a scenario, whose fields are the defaults of this call. Fields of the call win; both `retrieval` queries must hold.",
  }),
  return: Return,
  ...ShapingFields,
  ...ReferenceFields,
});

/** The body of `POST …/rank`. */
export const RankBody = CommonFields.extend({
  interactions: z
    .array(z.strictObject({ item_id: Id }))
    .max(SESSION_MAX, `must be at most ${SESSION_MAX} entries long: send the latest`)
    .default([])
    .meta({
      description:
        `A session's latest positive interactions, the oldest first, at most ${SESSION_MAX}. They follow the stored history; for a model ` +
        "with `session_id` they take its place.",
      examples: [[{ item_id: "i3" }, { item_id: "i8" }]],
    }),
  ...RankListFields,
  session_id: Id.optional().meta({
    description: "Who an anonymous caller is, so that an experiment always gives the caller the same arm.",
  }),
  item_ids: z
    .array(Id)
    .min(1)
    .max(ITEM_IDS_MAX)
    .optional()
    .meta({
      description: `Only these items are ranked, 1 to ${ITEM_IDS_MAX}. Ids unknown to the model are skipped and counted.`,
      examples: [["i3", "i8"]],
    }),
});

/** The body of `POST …/similar_items`. */
export const SimilarBody = CommonFields.extend(SimilarFields);

const IN_QUERY = { user_id: true, limit: true, offset: true, return: true, scenario: true } as const;
const RankQuery = RankBody.pick({ ...IN_QUERY, session_id: true, seen: true, strategy: true, item_ids: true });
const SimilarQuery = SimilarBody.pick({ ...IN_QUERY, item_id: true, item_ids: true, relation: true });

/** A rank request without its time. */
export type RankParameters = Omit<RankRequest, "nowSeconds"> & {
  /** What the answer has besides ids. Undefined: it is a bare array of ids. */
  readonly details: readonly Detail[] | undefined;
  /** The name of the scenario that the call asks for. */
  readonly scenario: string | undefined;
  /** Stands for the user of an anonymous call in experiments. */
  readonly sessionId?: string | undefined;
};

/** Fields for a call that does not send them. */
export type CallDefaults = Readonly<Record<string, unknown>>;

/** `POST …/rank`. Throws Problem. */
export function parseRankBody(body: unknown, defaults?: CallDefaults): RankParameters {
  const parsed = parseWith(RankBody, withDefaults(body, defaults, defaultsOfLists), { codeOf: rankCodeOf });
  return {
    ...parametersOf(parsed, defaults),
    session: parsed.interactions.map((interaction) => interaction.item_id as ItemId),
  };
}

/** `POST …/similar_items`. Throws Problem. */
export function parseSimilarBody(body: unknown, defaults?: CallDefaults): RankParameters {
  const parsed = parseWith(SimilarBody, withDefaults(body, defaults, defaultsOfSimilar), { codeOf: rankCodeOf });
  return similarParameters(parsed, defaults);
}

/** The fields of a call, with its scenario's fields as defaults. Where both have a `retrieval`, items must pass both. */
function withDefaults(
  body: unknown,
  defaults: CallDefaults | undefined,
  fieldsFor: (defaults: CallDefaults, sent: object) => CallDefaults,
): unknown {
  if (defaults === undefined) return body;
  const sent = body as object;
  const { retrieval: _, ...others } = fieldsFor(defaults, sent);
  return { ...others, ...sent };
}

function similarParameters(
  { item_id, item_ids, relation, ...parsed }: z.output<typeof SimilarBody>,
  defaults?: CallDefaults,
) {
  return { ...parametersOf(parsed, defaults), ...basketOf({ item_id, item_ids, relation }) };
}

type ParsedFields = z.output<typeof CommonFields> &
  Partial<Pick<z.output<typeof RankBody>, "item_ids" | "session_id" | "seen" | "strategy">>;

function parametersOf(parsed: ParsedFields, defaults?: CallDefaults): RankParameters {
  const lacksDefaults = parsed.scenario !== undefined && defaults === undefined;
  const own = parsed.retrieval === undefined ? [] : [parseFilter(parsed.retrieval, "/retrieval")];
  const preset = defaults?.retrieval === undefined ? [] : [parseFilter(defaults.retrieval, "/scenario/retrieval")];
  const filters = [...preset, ...own];
  return {
    userId: parsed.user_id as UserId | undefined,
    limit: parsed.limit,
    offset: lacksDefaults ? parsed.offset : offsetOf(parsed),
    session: [],
    filter: filters.length > 1 ? { kind: "and", of: filters } : filters[0],
    ...seenOf(parsed),
    ...(parsed.strategy !== undefined && parsed.strategy !== "auto" && { strategy: parsed.strategy }),
    itemIds: parsed.item_ids as readonly ItemId[] | undefined,
    shaping: shapingOf(parsed),
    scenario: parsed.scenario,
    ...(parsed.session_id !== undefined && { sessionId: parsed.session_id }),
    ...(parsed.user && { user: parsed.user }),
    ...(parsed.context && { context: parsed.context }),
    ...detailsOf(parsed.return),
  };
}

/**
 * The query parameters of an address. Throws Problem invalid_parameter for a parameter whose bytes are not UTF-8: it would be read as
 * another id.
 */
export function queryOf(url: string): URLSearchParams {
  const search = searchOf(url);
  const query = new URLSearchParams(search);
  if (!search.includes("%")) return query;
  // Invalid bytes are decoded as U+FFFD, which may also have been sent as itself.
  const others = [...new URLSearchParams(search.replaceAll(/%EF%BF%BD|\uFFFD/gi, "_"))];
  const wrong = others.findIndex((pair) => pair.join("").includes("\uFFFD"));
  if (wrong < 0) return query;
  const [name] = [...query][wrong]!;
  throw problemOf([
    { pointer: pointerStep(name), code: "invalid_parameter", message: "must be percent-encoded UTF-8" },
  ]);
}

/** The same as `new URL(url).search`, without parsing the whole address. */
export function searchOf(url: string): string {
  const [whole] = url.split("#", 1);
  const at = whole!.indexOf("?");
  return at < 0 ? "" : whole!.slice(at);
}

/** `GET …/rank?user_id=&limit=&offset=&return=&scenario=&item_ids=`. Throws Problem. */
export function parseRankQuery(query: URLSearchParams, defaults?: CallDefaults): RankParameters {
  const values = valuesOf(query);
  return defaults
    ? parseRankBody(values, defaults)
    : parametersOf(parseWith(RankQuery, values, { codeOf: rankCodeOf }));
}

/** `GET …/similar_items?item_id=&item_ids=&relation=&user_id=&limit=&offset=&return=&scenario=`. Throws Problem. */
export function parseSimilarQuery(query: URLSearchParams, defaults?: CallDefaults): RankParameters {
  const values = valuesOf(query);
  if (defaults) return parseSimilarBody(values, defaults);
  const parsed = parseWith(SimilarQuery, values, { codeOf: rankCodeOf });
  return similarParameters(parsed);
}

function valuesOf(query: URLSearchParams): Record<string, unknown> {
  const { limit, offset, return: details, item_ids: items, ...ids } = uniqueParameters(query);
  return {
    ...ids,
    ...(offset !== undefined && { offset: integerIn(offset) ?? offset }),
    ...(items !== undefined && { item_ids: items.split(",") }),
    ...(limit !== undefined && { limit: integerIn(limit) ?? limit }),
    ...(details !== undefined && { return: details === "" ? [] : details.split(",") }),
  };
}

/** The body of `POST /v0/users/erase`. Unlike a path, it can have any id: `.` and `..` are no path segments. */
export const EraseRequest = z.strictObject({ user_id: Id });

export const MERGE_BODY_BYTES_MAX = 4096;
/** The body of `POST /v0/users/{user_id}/merge`. */
export const MergeBody = z.strictObject({
  from: Id.meta({ description: "The id whose events count as the user's from now on.", examples: ["anonymous-7"] }),
});

/** The user id of a path `/v0/users/{user_id}`, given in its percent-encoded form. Throws Problem invalid_parameter. */
export const parseUserIdInPath = (encoded: string): UserId => idInPath("user_id", encoded) as UserId;

/** The item id of a path `…/items/{item_id}`, given in its percent-encoded form. Throws Problem invalid_parameter. */
export const parseItemIdInPath = (encoded: string): ItemId => idInPath("item_id", encoded) as ItemId;

function idInPath(name: string, encoded: string): string {
  let text: string | undefined;
  try {
    text = decodeURIComponent(encoded);
  } catch {
    text = undefined;
  }
  const message = text === undefined ? "must be percent-encoded UTF-8" : textFault(text);
  if (message === undefined) return text!;
  throw problemOf([{ pointer: `/${name}`, code: "invalid_parameter", message: `${message}, found ${shown(encoded)}` }]);
}

export type ListParameters = {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly status: ModelStatus | undefined;
  readonly nameContains: string | undefined;
};

/** The `limit` of a list that is no ranking. */
export const ListLimit = z
  .int({ error: (issue) => `must be an integer from 1 to ${LIST_LIMIT_MAX}, found ${shown(issue.input)}` })
  .min(1)
  .max(LIST_LIMIT_MAX)
  .default(LIST_LIMIT_DEFAULT);

const ListQuery = z.strictObject({
  limit: ListLimit,
  cursor: z.string().min(1).max(CURSOR_CHARACTERS_MAX).optional(),
  status: ModelStatus.optional(),
  name_contains: z.string().min(1).max(NAME_PART_MAX).optional(),
});

/** `GET /v0/models?limit=&cursor=&status=&name_contains=`. Throws Problem. */
export function parseListQuery(query: URLSearchParams): ListParameters {
  const sent = uniqueParameters(query);
  const limit = sent.limit === undefined ? {} : { limit: integerIn(sent.limit) ?? sent.limit };
  const parsed = parseWith(ListQuery, { ...sent, ...limit }, { codeOf: listCodeOf });
  return { limit: parsed.limit, cursor: parsed.cursor, status: parsed.status, nameContains: parsed.name_contains };
}

const rankCodeOf: NonNullable<ParseOptions["codeOf"]> = (pointer, issue) => {
  if (pointer === "/limit") return "limit_out_of_range";
  return pointer === "/interactions" && issue.code === "too_big" ? "too_many_interactions" : undefined;
};

export const listCodeOf: NonNullable<ParseOptions["codeOf"]> = (pointer) =>
  pointer === "/limit" ? "limit_out_of_range" : undefined;

/** The integer whose canonical form is this text, or undefined. Nothing is coerced. */
export function integerIn(text: string): number | undefined {
  const value = Number(text);
  return Number.isSafeInteger(value) && String(value) === text ? value : undefined;
}

/** Query parameters by name. Throws Problem invalid_parameter for a parameter that was sent twice. */
export function uniqueParameters(query: URLSearchParams): Record<string, string> {
  const values = new Map<string, string>();
  const errors: ProblemPart[] = [];
  for (const [name, value] of query) {
    if (values.has(name))
      errors.push({ pointer: pointerStep(name), code: "invalid_parameter", message: "was sent twice" });
    values.set(name, value);
  }
  if (errors.length > 0) throw problemOf(errors.slice(0, ERRORS_MAX));
  return Object.fromEntries(values);
}
