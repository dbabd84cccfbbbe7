/**
 * The evaluation report of a version, stored next to its manifest and served by GET …/evaluation. It tells how the version was
 * chosen and how good it is, on interactions that no candidate had learnt from. Every list in it is bounded, and it names no user.
 */
import { z } from "zod";
import { Id } from "./api.ts";

export const EVALUATION_FORMAT = 1;
export const EXAMPLES_MAX = 12;
export const CANDIDATES_MAX = 300;

/** A text for people. What is longer is cut: nothing that was measured may be lost for the words about it. */
const told = (charactersMax: number) =>
  z
    .string()
    .overwrite((text) => (text.length > charactersMax ? `${text.slice(0, charactersMax - 1).toWellFormed()}…` : text))
    .meta({ maxLength: charactersMax });

/** A mean over users with its 95 % bootstrap interval. Null where no user could be measured. */
export const MeasuredMean = z.strictObject({
  value: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
});
export type MeasuredMean = z.infer<typeof MeasuredMean>;

/** By name and cut-off, such as `ndcg@10`. */
const Metrics = z.record(z.string().max(40), MeasuredMean);

/** What the lists of everybody together look like; keys with a cut-off, such as `coverage@10`. */
const ListShape = z.record(z.string().max(60), z.number().nullable());

/** Settings of a method, as it was fitted. */
export const MethodParams = z.record(z.string().max(60), z.number());

/** Users with an interaction, items with a positive one. */
const Sizes = z.strictObject({ users: z.number(), items: z.number(), interactions: z.number(), positives: z.number() });

export const SplitDescription = z.strictObject({
  /** `temporal`: one instant for all users. `leave-last-out`: each user's newest. `held-out`: random rows. `sessions`: whole ones. */
  kind: z.enum(["temporal", "leave-last-out", "held-out", "sessions", "none"]),
  /** Why this kind. */
  reason: told(1000),
  /** Everything before it was learnt from; RFC 3339 UTC, of a temporal split only. */
  instant: z.string().max(40).nullable(),
  /** RFC 3339 UTC: the first and the last interaction learnt from, and the last of all. Null where the data have no times. */
  dates: z
    .strictObject({ train_from: z.string().max(40), train_to: z.string().max(40), to: z.string().max(40) })
    .nullable()
    .optional(),
  train: Sizes,
  validation: z.strictObject({
    /** Users with something to find, those without history included. */
    users: z.number(),
    users_with_history: z.number(),
    targets: z.number(),
    /** On how many users the final figures stand: a seeded sample when there are very many. */
    users_measured: z.number(),
  }),
  /** Equal for two reports only if both were measured on the same split of the same data. */
  fingerprint: z.string().max(80),
});

export type SplitDescription = z.infer<typeof SplitDescription>;

export const CandidateReport = z.strictObject({
  method: z.string().max(60),
  params: MethodParams,
  /** `left_out` before fitting, `failed` while fitting or exporting, `dropped` in an early round, `lost` in the last one. */
  outcome: z.enum(["chosen", "lost", "dropped", "left_out", "failed"]),
  /** Why it was chosen, lost or left out, in a sentence. */
  reason: told(1000),
  /** Users that the metrics stand on; fewer in early rounds. */
  users_measured: z.number(),
  /** Share of the training users that it was fitted on: below 1 in early rounds of expensive methods. */
  train_share: z.number(),
  metrics: Metrics,
  /** Paired difference to popularity of the metric that chooses. */
  lift: MeasuredMean.nullable(),
  lists: ListShape,
  fit_seconds: z.number().nullable(),
  artifact_bytes: z.number().nullable(),
  /** What was left out of the served form; empty when nothing. */
  truncation: told(500),
});
export type CandidateReport = z.infer<typeof CandidateReport>;

export const SegmentReport = z.strictObject({
  /** `new`, `light`, `heavy` for users; `head`, `middle`, `tail` for items; or the value of an attribute. */
  name: told(200),
  meaning: told(300),
  users: z.number(),
  /** Items of an item segment; null for users. */
  items: z.number().nullable(),
  /** Share of the chosen lists that the items of the segment take; null for users. */
  share_shown: z.number().nullable(),
  chosen: Metrics,
  popularity: Metrics,
});
export type SegmentReport = z.infer<typeof SegmentReport>;

/** Whether users without a history are ranked for by their attributes, as measured on users whose history was hidden. */
export const UserAttributesReport = z.strictObject({
  served: z.boolean(),
  /** Why, in a sentence. */
  reason: told(1000),
  /** Each was hidden once while the others taught. */
  users_hidden: z.number(),
  /** How many values of each were looked at, and whether they make hidden users' choices more likely. */
  attributes: z.array(z.strictObject({ name: told(200), values: z.number(), kept: z.boolean() })).max(500),
  /** Empty when not served. */
  params: MethodParams,
  metrics: Metrics,
  popularity: Metrics,
  /** Paired differences to popularity. */
  lift: Metrics,
});

const ItemIdJson = z.union([z.string().max(256), z.number()]);

/** One user of the validation part: what was known, what was answered, what came. */
export const ExampleUser = z.strictObject({
  /** Newest positives, oldest first, at most 20. */
  history: z.array(ItemIdJson).max(20),
  /** The first ten of the list, best first. */
  list: z.array(ItemIdJson).max(10),
  /** What the user really chose afterwards, at most 20. */
  relevant: z.array(ItemIdJson).max(20),
});

export type ExampleUser = z.infer<typeof ExampleUser>;

export const GateVerdict = z.strictObject({
  pass: z.boolean(),
  /** Why not; empty when it passed. */
  reasons: z.array(told(1000)).max(20),
  /** What was compared, and what could not be. */
  notes: z.array(told(1000)).max(20),
});
export type GateVerdict = z.infer<typeof GateVerdict>;

export const EvaluationReport = z.strictObject({
  format: z.literal(EVALUATION_FORMAT),
  /** Everything that the version was made of. */
  data: Sizes,
  split: SplitDescription,
  /** The metric that chose, such as `ndcg@10`. */
  chosen_by: z.string().max(40),
  chosen: z.strictObject({ method: z.string().max(60), params: MethodParams, metrics: Metrics, lists: ListShape }),
  popularity: z.strictObject({ params: MethodParams, metrics: Metrics, lists: ListShape }),
  /** Mean popularity percentile of the histories: what `popularity_percentile@k` of the lists is compared with. */
  history_popularity_percentile: z.number().nullable(),
  /** Paired differences of the chosen to popularity, by metric. */
  lift: Metrics,
  /**
   * How much of the chosen metric is luck of the choice: its mean minus that of choosing on four fifths of the users and measuring
   * on the last, five times. Null when nothing was chosen from.
   */
  choice_optimism: z.number().nullable(),
  candidates: z.array(CandidateReport).max(CANDIDATES_MAX),
  segments: z.strictObject({ users: z.array(SegmentReport).max(10), items: z.array(SegmentReport).max(10) }),
  examples: z.array(ExampleUser).max(EXAMPLES_MAX),
  /** The live version's method fitted on the same training part; null when there was none. */
  live: z
    .strictObject({ method: z.string().max(60), params: MethodParams, metrics: Metrics, lift: MeasuredMean })
    .nullable(),
  /** Null or absent where no attributes of users are known. */
  user_attributes: UserAttributesReport.nullable().optional(),
  gate: GateVerdict.nullable(),
  /** The chosen method was fitted again on all data before it was published. */
  refit: z.strictObject({ interactions: z.number(), seconds: z.number(), artifact_bytes: z.number() }).nullable(),
  seconds: z.strictObject({ budget: z.number(), used: z.number() }),
  warnings: z.array(told(1000)).max(50),
});
export type EvaluationReport = z.infer<typeof EvaluationReport>;

const SentId = z.union([z.string(), z.number()]);
const Ids = z.array(SentId).max(1000);

/** An id by the rule of a rank call, but as it was sent. */
const GivenId = SentId.superRefine((sent, context) => {
  for (const { message } of Id.safeParse(sent).error?.issues ?? []) context.addIssue({ code: "custom", message });
});
const GivenIds = z.array(GivenId).min(1).max(1000);

const GivenAttribute = z.string().min(1).max(128);

/**
 * The body of `POST …/evaluation`, one of: how well are these users served; how well are these items found; and how does either
 * differ between the values of an attribute?
 */
export const EvaluationQuestion = z
  .strictObject({
    user_ids: GivenIds.optional(),
    item_ids: GivenIds.optional(),
    user_attribute: GivenAttribute.optional(),
    item_attribute: GivenAttribute.optional(),
  })
  .refine(
    (question) => Object.values(question).filter((part) => part !== undefined).length === 1,
    "must have one of user_ids, item_ids, user_attribute and item_attribute",
  );
export type EvaluationQuestion = z.infer<typeof EvaluationQuestion>;

export const ATTRIBUTE_VALUES_MAX = 50;

/** What `POST …/evaluation` answers, from the lists that the report stands on. */
export const EvaluationAnswer = z.strictObject({
  /** Users measured: the given ones, or those who chose one of the given items. */
  users: z.number(),
  /** Given ids that the evaluation knows nothing of: not in the data, or not in the part that was measured. */
  not_measured: Ids,
  /** For items the recall of those items alone. */
  chosen: Metrics,
  popularity: Metrics,
  lift: Metrics,
  /** Share of the places of all lists that the given items take, by cut-off; null for users. */
  share_shown: z.strictObject({ chosen: ListShape, popularity: ListShape }).nullable(),
  /** One for each value of the given attribute, those with the most users first; else null. */
  segments: z.array(SegmentReport).max(ATTRIBUTE_VALUES_MAX).nullable(),
  /** Values of the attribute that are not among the segments. */
  further_values: z.number(),
});
export type EvaluationAnswer = z.infer<typeof EvaluationAnswer>;
