/** The events that a customer's application sends (`POST /v0/events`), and the form in which they are stored. */
import * as z from "zod";
import { epochSecondsIn } from "../filter/epoch-seconds.ts";
import { Id } from "../id-schema.ts";
import type { ItemId, UserId } from "../ids.ts";
import { shown } from "../parse-request.ts";

export const EVENTS_MAX = 500;
/** Limit on the body of `POST /v0/events`. */
export const EVENTS_BODY_BYTES_MAX = 262_144;
/** Clocks of callers may be ahead of ours by this much. */
export const FUTURE_SECONDS_MAX = 300;
/** About 13 months: how old an event may be, and how long events are stored unless the operator says otherwise. */
export const RETENTION_DAYS_DEFAULT = 396;

export const EventType = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/, "must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")
  .meta({ description: "What happened: any name, such as view or purchase.", examples: ["purchase"] });

const Time = z
  .string()
  .max(40)
  .transform((text, context) => {
    const seconds = epochSecondsIn(text);
    if (seconds !== undefined) return seconds;
    context.addIssue({ code: "custom", message: `must be a time in RFC 3339, found ${shown(text)}` });
    return z.NEVER;
  })
  .meta({
    description: "RFC 3339; now if absent. At most five minutes in the future.",
    examples: ["2026-11-24T09:30:00Z"],
    format: "date-time",
  });

/** Text that every reader of exported events can read. */
const Name = z
  .string()
  .min(1)
  .max(64)
  .refine(
    (text) => text.isWellFormed() && !text.includes("\0"),
    "must be well-formed Unicode without the character NUL",
  )
  .meta({ pattern: "^[^\\u0000]*$" });

export const Event = z.strictObject({
  event_id: Name.optional().meta({
    description:
      "Unique among the events of the user. An event that is sent again within a week with the same id counts once.",
  }),
  user_id: Id,
  item_id: Id,
  type: EventType,
  created_at: Time.optional(),
  value: z
    .number()
    .optional()
    .meta({ description: "A number that belongs to the event, such as a price or a rating." }),
  rank_id: Name.optional().meta({ description: "The x-rank-id of the list that led to the event." }),
});

/** The body of `POST /v0/events`. */
export const EventsBody = z.strictObject({ events: z.array(Event).min(1).max(EVENTS_MAX) });

/** One event as it is stored and exported: a line of NDJSON, with the time in whole seconds since 1970. */
export const StoredEvent = z.object({
  event_id: z.string(),
  user_id: z.string().transform((id) => id as UserId),
  item_id: z.string().transform((id) => id as ItemId),
  type: z.string(),
  created_at: z.number(),
  value: z.number().nullable(),
  rank_id: z.string().nullable(),
  /** The position in its shard: later batches have higher numbers. Events that were sent together may share one. */
  seq: z.int().positive(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

/** What a type of event means to a model. */
export const EventMeaning = z
  .strictObject({
    label: z.boolean().meta({ description: "Whether the event is a positive interaction." }),
    seen: z.boolean().default(true).meta({ description: "Whether the user has seen the item from then on." }),
  })
  .refine(({ label, seen }) => seen || !label, {
    path: ["seen"],
    message:
      "must be true where label is: a positive interaction is seen. Calls bring seen items back with exclude_seen",
  });

/** `schema.interaction.events`: the types that a model listens to. Other types do not affect it. */
export const EventMeanings = z
  .record(EventType, EventMeaning)
  .refine((meanings) => Object.keys(meanings).length <= 50, "must have at most 50 types")
  .refine((meanings) => Object.values(meanings).some(({ label }) => label), "must have a type whose label is true")
  .meta({
    description:
      "The types of events that the model listens to. It needs a connector of type Events, which provides the same events for training. " +
      "A type whose seen is false, such as an impression with a rank_id, only says that a list was shown: the evaluation report then has " +
      "the share of lists that led to each other type.",
    examples: [{ view: { label: true }, purchase: { label: true }, impression: { label: false, seen: false } }],
  });
export type EventMeanings = z.infer<typeof EventMeanings>;
