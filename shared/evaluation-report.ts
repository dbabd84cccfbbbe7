/**
 * The evaluation report of a version, stored next to its manifest and served by GET …/evaluation. It says how the version was chosen and
 * how good it is, measured on interactions that no candidate had learnt from. Every list is bounded, and no user is named.
 */
import * as z from "zod";
import { clipped } from "./clipped.ts";
import { Id, SentId } from "./id-schema.ts";

export const EVALUATION_FORMAT = 1;
export const EXAMPLES_MAX = 12;
export const CANDIDATES_MAX = 300;

/** A text for people. A longer text is cut rather than refused, so that no measurement is lost because of its description. */
const proseOf = (charactersMax: number) =>
  z
    .string()
    .overwrite((text) => (text.length > charactersMax ? `${clipped(text, charactersMax - 1).toWellFormed()}…` : text))
    .meta({ maxLength: charactersMax });

/** A mean over users with its 95 % bootstrap interval. Null where no user could be measured. */
export const MeasuredMean = z.object({
  value: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
});
export type MeasuredMean = z.infer<typeof MeasuredMean>;

/** Values by metric and cut-off, such as `ndcg@10`. */
const Metrics = z.record(z.string().max(40), MeasuredMean);

/** Properties of all users' lists together, by name and cut-off, such as `coverage@10`. */
const ListShape = z.record(z.string().max(60), z.number().nullable());

export const ATTRIBUTED_MAX = 100;

/** What the lists of a version led to, as far as events with rank ids tell. */
const VersionAttribution = z
  .object({
    version: z.string().max(63),
    lists: z
      .number()
      .meta({ description: "Lists with an event of a type whose seen is false, such as an impression." }),
    events: z.record(
      z.string().max(40),
      z.object({ lists: z.number(), share: z.number(), low: z.number(), high: z.number() }),
    ),
  })
  .meta({
    description:
      "By type, the lists among these that led to such an event, with their share and its 95 % interval (Wilson). Counted when " +
      "the report's version was trained. Absent without such impressions, because nothing else says how many lists were shown.",
  });
export type VersionAttribution = z.infer<typeof VersionAttribution>;

/** The settings with which a method was fitted. */
export const MethodParams = z.record(z.string().max(60), z.number());

/** `users` counts users with an interaction, `items` items with a positive one. */
const Sizes = z.object({ users: z.number(), items: z.number(), interactions: z.number(), positives: z.number() });

export const SplitDescription = z.object({
  /** `temporal`: one instant for all users. `leave-last-out`: each user's newest. `held-out`: random rows. `sessions`: whole ones. */
  kind: z.enum(["temporal", "leave-last-out", "held-out", "sessions", "none"]),
  /** Why this kind of split was chosen. */
  reason: proseOf(1000),
  /** The training part ends here; RFC 3339 UTC. Only for a temporal split. */
  instant: z.string().max(40).nullable(),
  /** RFC 3339 UTC: first and last training interaction, and the last interaction of all. Null if the data have no times. */
  dates: z
    .object({ train_from: z.string().max(40), train_to: z.string().max(40), to: z.string().max(40) })
    .nullable()
    .optional(),
  train: Sizes,
  validation: z.object({
    /** Users with held-out items, including users without history. */
    users: z.number(),
    users_with_history: z.number(),
    targets: z.number(),
    /** The number of users that the final figures are measured on: a seeded sample if there are very many. */
    users_measured: z.number(),
  }),
  /** Two reports have the same fingerprint only if they use the same split of the same data. */
  fingerprint: z.string().max(80),
});

export type SplitDescription = z.infer<typeof SplitDescription>;

/** Means of a metric over the user segments of the report; null for a segment without lists. */
const UserMeans = z.object({
  new: z.number().nullable(),
  light: z.number().nullable(),
  heavy: z.number().nullable(),
});
export type UserMeans = z.infer<typeof UserMeans>;

export const CandidateReport = z.object({
  method: z.string().max(60),
  params: MethodParams,
  /** `left_out` before fitting, `failed` while fitting or exporting, `dropped` in an early round, `lost` in the last one. */
  outcome: z.enum(["chosen", "lost", "dropped", "left_out", "failed"]),
  /** Why it has this outcome, in one sentence. */
  reason: proseOf(1000),
  /** Users that the metrics are measured on; fewer in early rounds. */
  users_measured: z.number(),
  /** Fraction of the training users that it was fitted on: below 1 in early rounds of expensive methods. */
  train_share: z.number(),
  metrics: Metrics,
  /** Paired difference to popularity in the metric that chooses. */
  lift: MeasuredMean.nullable(),
  lists: ListShape,
  /** The metric that chooses, by the length of the users' histories. Absent if not measured, and in reports of earlier releases. */
  users: UserMeans.optional(),
  fit_seconds: z.number().nullable(),
  artifact_bytes: z.number().nullable(),
  /** What the served form leaves out; empty if nothing. */
  truncation: proseOf(500),
});
export type CandidateReport = z.infer<typeof CandidateReport>;

export const SegmentReport = z.object({
  /**
   * `new`, `light`, `heavy` for users; `head`, `middle`, `tail` and `cold`, `rare`, `frequent` for items; or the value of an attribute.
   */
  name: proseOf(200),
  meaning: proseOf(300),
  users: z.number(),
  /** Number of items in an item segment; null for user segments. */
  items: z.number().nullable(),
  /** Fraction of the places in the chosen method's lists that the segment's items take; null for user segments. */
  share_shown: z.number().nullable(),
  chosen: Metrics,
  popularity: Metrics,
});
export type SegmentReport = z.infer<typeof SegmentReport>;

/** Whether users without a history are ranked by their attributes, as measured on users whose history was hidden. */
export const UserAttributesReport = z.object({
  served: z.boolean(),
  /** Why they are served or not, in one sentence. */
  reason: proseOf(1000),
  /** Each user's history was hidden once, while the model learnt from the others. */
  users_hidden: z.number(),
  /** The number of values per attribute, and whether the attribute makes the hidden choices more likely. */
  attributes: z.array(z.object({ name: proseOf(200), values: z.number(), kept: z.boolean() })).max(500),
  /** Empty if not served. */
  params: MethodParams,
  metrics: Metrics,
  popularity: Metrics,
  /** Paired differences to popularity. */
  lift: Metrics,
});

const ItemIdJson = z.union([z.string().max(256), z.number()]);

/** One user of the validation part: the history, the list, and the items chosen afterwards. */
export const ExampleUser = z.object({
  /** The 20 newest positive items at most, oldest first. */
  history: z.array(ItemIdJson).max(20),
  /** The first ten items of the list, best first. */
  list: z.array(ItemIdJson).max(10),
  /** The items that the user chose afterwards, at most 20. */
  relevant: z.array(ItemIdJson).max(20),
});

export type ExampleUser = z.infer<typeof ExampleUser>;

/** The gate's refusals that a call may ignore once. */
export const IGNORABLE = ["source_shrunken"] as const;

/** What was read of a source, to compare with the next version's. */
const SourceFacts = z.object({
  /** Of the connector's configuration and the query. Facts of another source are not compared. */
  digest: z.string().max(80),
  rows: z.number(),
  /** How many rows have a value, by attribute. */
  attributes: z.record(z.string(), z.number()).optional(),
  /** Rows of items that interactions have too. */
  chosen: z.number().optional(),
});
export type SourceFacts = z.infer<typeof SourceFacts>;

export const GateVerdict = z.object({
  pass: z.boolean(),
  /** Present if these codes are why it did not pass, and nothing else is. */
  codes: z.array(z.enum(IGNORABLE)).optional(),
  /** Why it did not pass; empty if it passed. */
  reasons: z.array(proseOf(1000)).max(20),
  /** What was compared, and what could not be compared. */
  notes: z.array(proseOf(1000)).max(20),
});
export type GateVerdict = z.infer<typeof GateVerdict>;

export const EvaluationReport = z.object({
  format: z.literal(EVALUATION_FORMAT),
  /** Sizes of all data that the version was made from. */
  data: Sizes,
  split: SplitDescription,
  /** The metric by which the method was chosen, such as `ndcg@10`. */
  chosen_by: z.string().max(40),
  chosen: z.object({ method: z.string().max(60), params: MethodParams, metrics: Metrics, lists: ListShape }),
  popularity: z.object({ params: MethodParams, metrics: Metrics, lists: ListShape }),
  /** Mean popularity percentile of the histories, to compare with `popularity_percentile@k` of the lists. */
  history_popularity_percentile: z.number().nullable(),
  /** Paired differences of the chosen method to popularity, by metric. */
  lift: Metrics,
  /**
   * How much the choice of the best candidate flatters its figure: the chosen metric's mean, minus the mean of five folds, in each of
   * which the choice is made on four fifths of the users and measured on the rest. Null if there was no choice.
   */
  choice_optimism: z.number().nullable(),
  candidates: z.array(CandidateReport).max(CANDIDATES_MAX),
  segments: z.object({ users: z.array(SegmentReport).max(10), items: z.array(SegmentReport).max(10) }),
  examples: z.array(ExampleUser).max(EXAMPLES_MAX),
  /** The live version's method, fitted on the same training part; null if there was no live version. */
  live: z.object({ method: z.string().max(60), params: MethodParams, metrics: Metrics, lift: MeasuredMean }).nullable(),
  /** Null or absent if no attributes of users are known. */
  user_attributes: UserAttributesReport.nullable().optional(),
  attribution: z.array(VersionAttribution).max(ATTRIBUTED_MAX).optional(),
  gate: GateVerdict.nullable(),
  /** What the sources had. Absent in reports of earlier releases. */
  sources: z.object({ interactions: SourceFacts, items: SourceFacts.optional() }).optional(),
  /** The chosen method was fitted again on all data before it was published. */
  refit: z.object({ interactions: z.number(), seconds: z.number(), artifact_bytes: z.number() }).nullable(),
  seconds: z.object({ budget: z.number(), used: z.number() }),
  warnings: z.array(proseOf(1000)).max(50),
});
export type EvaluationReport = z.infer<typeof EvaluationReport>;

const Ids = z.array(SentId).max(1000);

/** An id by the rule of a rank call, kept as it was sent. */
const QuestionId = SentId.superRefine((sent, context) => {
  for (const { message } of Id.safeParse(sent).error?.issues ?? []) context.addIssue({ code: "custom", message });
});
const QuestionIds = z.array(QuestionId).min(1).max(1000);

const QuestionAttribute = z.string().min(1).max(128);

/**
 * The body of `POST …/evaluation`, which asks one of these questions: How good are the lists of these users? How well are these items
 * found? How does either differ between the values of an attribute? What does a scenario change?
 */
export const EvaluationQuestion = z
  .strictObject({
    user_ids: QuestionIds.optional(),
    item_ids: QuestionIds.optional(),
    user_attribute: QuestionAttribute.optional(),
    item_attribute: QuestionAttribute.optional(),
    scenario: z
      .string()
      .max(63)
      .optional()
      .meta({ description: "The name of a stored scenario.", examples: ["home"] }),
  })
  .refine(
    (question) => Object.values(question).filter((part) => part !== undefined).length === 1,
    "must have one of user_ids, item_ids, user_attribute, item_attribute and scenario",
  )
  .meta({
    minProperties: 1,
    maxProperties: 1,
    examples: [{ scenario: "home" }, { user_ids: ["u17", "u18"] }, { item_attribute: "category" }],
  });
export type EvaluationQuestion = z.infer<typeof EvaluationQuestion>;

export const ATTRIBUTE_VALUES_MAX = 50;

/** The answer of `POST …/evaluation`, computed from the lists that the report was made from. */
export const EvaluationAnswer = z.strictObject({
  /** Users measured: the given ones, or those who chose one of the given items. */
  users: z.number(),
  /** Given ids that are not in the data, or not in the part that was measured. */
  not_measured: Ids,
  /** For given items: the recall of these items only. */
  chosen: Metrics,
  popularity: Metrics,
  lift: Metrics,
  /** Fraction of the places in all lists that the given items take, by cut-off; null for users. */
  share_shown: z.strictObject({ chosen: ListShape, popularity: ListShape }).nullable(),
  /** One segment for each value of the given attribute, those with the most users first; null for other questions. */
  segments: z.array(SegmentReport).max(ATTRIBUTE_VALUES_MAX).nullable(),
  /** The number of values of the attribute that have no segment here. */
  further_values: z.number(),
});
export type EvaluationAnswer = z.infer<typeof EvaluationAnswer>;

/** What a scenario changes, measured on held-out choices by the ranking function that serves. Cut-offs go up to the list's length. */
export const ScenarioFigures = z.strictObject({
  users: z.number(),
  /** Lists made without and with the scenario; a user may have several. */
  lists: z.number(),
  /** Length of the lists: the scenario's `limit`, or the default. */
  limit: z.number(),
  /** The parts of the scenario that do not fit the version and were left out. */
  left_out: z.array(z.string()).max(20),
  /** Relevance, and `coverage@k`, `gini@k` and `popularity_percentile@k` of all lists together. */
  without: Metrics,
  with: Metrics,
  /** Paired differences: with minus without. */
  difference: Metrics,
});
export type ScenarioFigures = z.infer<typeof ScenarioFigures>;

/** The answer of `POST …/evaluation` for a scenario. */
export const ScenarioAnswer = z.strictObject({
  scenario: z.string(),
  version: z.string(),
  ...ScenarioFigures.shape,
});
export type ScenarioAnswer = z.infer<typeof ScenarioAnswer>;
