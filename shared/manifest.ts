/**
 * A version of a model, as a list of immutable files.
 *
 * Objects in the bucket that an edge reads:
 *
 *     keys/{sha256 of the API key, hex}.json                 who may call (shared/key-record.ts)
 *     models/{customer}/{model}/live.json                    the live pointer (shared/live-pointer.ts), the model's only mutable object
 *     models/{customer}/{model}/versions/{version}.json      the manifest: this file
 *     models/{customer}/{model}/reports/{version}.json       the evaluation report
 *     models/{customer}/{model}/lists/{version}.bin          the lists that the report was made from, for the trainer
 *     models/{customer}/{model}/replays/{version}.bin        the report's model and cases, to measure scenarios, for the trainer
 *     models/{customer}/{model}/scenarios/{name}.json        named defaults for rank calls (shared/scenario.ts)
 *     models/{customer}/{model}/extensions/{sha256, hex}.bin how the live version scores new items (shared/items/extension-file.ts)
 *     models/{customer}/{model}/blobs/{sha256, hex}          every other file, named by its content
 *
 * Every reference is a descriptor (as in the OCI image specification): media type, digest, size. A reader checks first the size, then the
 * digest, then the content.
 *
 * Stored JSON files and metadata are read tolerantly: a reader ignores fields that it does not know, so a later release may add fields. A
 * release that changes the meaning of a file raises its format number, and older readers refuse it. The Worker reads format N and N−1.
 */
import * as z from "zod";
import { EventMarks } from "./events/event-store.ts";

export const FORMAT = 1;
/** Format 1 with `user_values` in addition, and with codes of values in user records, for users without a history. */
export const FORMAT_WITH_USER_VALUES = 2;
export const FORMATS_READ: readonly number[] = [FORMAT, FORMAT_WITH_USER_VALUES];

export const Descriptor = z.object({
  media_type: z.string().max(100),
  /** `sha256:` and 64 hex digits. */
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** Bytes. */
  size: z.int().nonnegative(),
});
export type Descriptor = z.infer<typeof Descriptor>;

/** A version as pointers name it. */
export const Live = z.object({
  version: z.string().max(64),
  manifest: Descriptor,
  /** The first version of the model; see `liveAfter`. */
  first_version: z.string().max(64).optional(),
});
export type Live = z.infer<typeof Live>;

export const MEDIA_TYPES = {
  model: "application/vnd.shortlist.onnx",
  weights: "application/vnd.shortlist.weights",
  catalog: "application/vnd.shortlist.catalog",
  attributes: "application/vnd.shortlist.attributes",
  userDirectory: "application/vnd.shortlist.user-directory",
  userPages: "application/vnd.shortlist.user-pages",
  userValues: "application/vnd.shortlist.user-values",
  similarity: "application/vnd.shortlist.similarity",
  itemCounts: "application/vnd.shortlist.item-counts",
  recentChoices: "application/vnd.shortlist.recent-choices",
  together: "application/vnd.shortlist.together",
  repeatIntervals: "application/vnd.shortlist.repeat-intervals",
  itemHours: "application/vnd.shortlist.item-hours",
  scoreRecipe: "application/vnd.shortlist.score-recipe",
} as const;

/** The only method that ignores the user. By this name, the edge knows that an answer is not personal. */
export const POPULARITY = "popularity";

/** Expected scores for a history. An edge checks once, when it loads a version, that its ONNX graph gives these scores. */
export const GoldenScores = z.object({
  /** Item indices, oldest first. */
  items: z.array(z.int().nonnegative()).max(1000),
  ages_days: z.array(z.number().nonnegative()).max(1000),
  /** Pairs of item index and score: the best ten and a few others. */
  scores: z.array(z.tuple([z.int().nonnegative(), z.number()])).max(100),
});
export type GoldenScores = z.infer<typeof GoldenScores>;

/**
 * The scoring graph. Inputs `items` int32 [L] and `ages_days` float32 [L] (L ≥ 1, oldest first; the graph may declare
 * only one of them), output `scores` float32 [item_count].
 */
const ModelDescription = z.object({
  /** Name of the method in trainer/learn, such as `local_ridge`. */
  method: z.string().max(60),
  history_max: z.int().min(1).max(1000),
  graph: Descriptor,
  /** ONNX external data: `path` is the location that the graph names. */
  weights: z.array(z.object({ path: z.string().max(100), file: Descriptor })).max(64),
  golden: z.array(GoldenScores).max(8),
  /** Largest difference allowed, relative to the largest absolute golden score. */
  golden_tolerance: z.number().positive(),
});

/** A directory of at most this many bytes, of some 2,000 pages, is in the manifest too. */
export const DIRECTORY_IN_MANIFEST_BYTES_MAX = 12 * 1024;

/** Packed user records (shared/user-records.ts). */
const UserRecordsDescription = z.object({
  directory: Descriptor,
  /** The directory, so that an edge reads a user's page at the same time as the files. Absent: too large. Older readers ignore it. */
  directory_base64: z
    .base64()
    .max((DIRECTORY_IN_MANIFEST_BYTES_MAX * 4) / 3)
    .optional(),
  pages: z.array(Descriptor).max(1000),
});

/** What types of events mean to a model. Stored meanings are not checked again, as specifications are not. */
export const StoredMeanings = z.record(z.string(), z.object({ label: z.boolean(), seen: z.boolean() }));
export type StoredMeanings = z.infer<typeof StoredMeanings>;

/** How a model of sessions ranks for a session, as it was evaluated. */
export const SessionRules = z.object({
  /** Whether the items of the session stay candidates. */
  repeats: z.boolean(),
});
export type SessionRules = z.infer<typeof SessionRules>;

const ManifestObject = z.object({
  format: z.int().refine((format) => FORMATS_READ.includes(format), {
    error: ({ input }) => `this release reads ${FORMATS_READ.join(" and ")}, found ${input}: deploy a newer one`,
  }),
  customer: z.string().max(63),
  model_name: z.string().max(63),
  /** RFC 3339 UTC. */
  created_at: z.string().max(40),
  item_id_type: z.enum(["string", "integer"]),
  /** Name of the item id column: filterable like an attribute. */
  item_id_column: z.string().max(128),
  /** Name of the attribute that orders lists of the newest items. Absent: there are no such lists. Older readers ignore it. */
  item_created_at: z.string().max(128).optional(),
  item_count: z.int().nonnegative(),
  /** Changes of items' values before this time, in epoch seconds, no longer hold: the source is newer. Absent: all hold. */
  changes_from: z.int().optional(),
  /** Items from this index on are in no list: the source of items lacks them. Absent: all items may be in lists. */
  listed_count: z.int().nonnegative().optional(),
  user_count: z.int().nonnegative(),
  model: ModelDescription,
  catalog: Descriptor,
  attributes: Descriptor.nullable(),
  users: UserRecordsDescription.nullable(),
  /** Scores of items by users' attribute values (shared/user-values.ts). */
  user_values: Descriptor.optional(),
  /** How sessions are ranked for; absent unless the model learns from sessions. Older readers ignore it. */
  sessions: SessionRules.optional(),
  /** For lists of similar items (shared/similarity.ts). Absent in older versions; older readers ignore it. */
  similarity: Descriptor.optional(),
  /** How often each item was chosen (shared/item-counts.ts). Absent in older versions; older readers ignore it. */
  item_counts: Descriptor.optional(),
  /** For lists of trending items (shared/recent-choices.ts). Absent in older versions; older readers ignore it. */
  recent_choices: Descriptor.optional(),
  /** For lists of items that are chosen together (shared/together.ts). Absent without baskets; older readers ignore it. */
  together: Descriptor.optional(),
  /** How items are chosen again (shared/repeat-intervals.ts). Absent without repetitions; older readers ignore it. */
  repeat_intervals: Descriptor.optional(),
  /** At which time of the day items are chosen (shared/item-hours.ts). Absent where it does not help; older readers ignore it. */
  item_hours: Descriptor.optional(),
  /** Scores of a few items without the graph (shared/score-recipe.ts). Absent where they have no such form; older readers ignore it. */
  score_recipe: Descriptor.optional(),
  /** The events that the model listens to, and how many of each shard this version has learnt. Absent: none. */
  events: z
    .object({
      meanings: StoredMeanings,
      learnt: EventMarks,
    })
    .optional(),
});

export const Manifest = ManifestObject.refine(
  ({ format, user_values }) => (user_values !== undefined) === (format === FORMAT_WITH_USER_VALUES),
  { path: ["user_values"], message: `belongs to format ${FORMAT_WITH_USER_VALUES}, and to it alone` },
);
export type Manifest = z.infer<typeof Manifest>;

/** A key that is unique to the model, since neither name contains a slash. */
export const modelKey = ({ customer, modelName }: { readonly customer: string; readonly modelName: string }): string =>
  `${customer}/${modelName}`;

export const prefixOf = (customer: string, model: string) => `models/${customer}/${model}/`;
export const manifestKey = (customer: string, model: string, version: string) =>
  `${prefixOf(customer, model)}versions/${version}.json`;
export const reportKey = (customer: string, model: string, version: string) =>
  `${prefixOf(customer, model)}reports/${version}.json`;
export const listsKey = (customer: string, model: string, version: string) =>
  `${prefixOf(customer, model)}lists/${version}.bin`;
export const replayKey = (customer: string, model: string, version: string) =>
  `${prefixOf(customer, model)}replays/${version}.bin`;
export const blobKey = (customer: string, model: string, digest: string) =>
  `${prefixOf(customer, model)}blobs/${digest.replace("sha256:", "")}`;
export const livePointerKey = (customer: string, model: string) => `${prefixOf(customer, model)}live.json`;
