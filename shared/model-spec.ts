import * as z from "zod";
import { IGNORABLE } from "./evaluation-report.ts";
import { EventMeanings } from "./events/event.ts";
import { Canary } from "./experiment/canary.ts";
import { Holdout } from "./experiment/holdout.ts";
import { FeatureType } from "./feature-type.ts";
import { NULL_WORDS } from "./ids.ts";
import { Column, Label } from "./label.ts";

export const ModelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, "must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$");

const QUERY_BYTES_MAX = 65_536;

/** One source to read from. The connector of that type defines all further fields (trainer/read/connectors). */
export const ConnectorConfig = z
  .looseObject({
    id: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .meta({ description: "The name by which sources refer to it; required if there are several." }),
    type: z.string().min(1).max(40).meta({ description: "File, Postgres, BigQuery or Events." }),
  })
  .meta({
    description:
      "Fields beside id and type. File: location, a file or a pattern below the folders that the operator allows, " +
      "each file a table of its own; or tables, by name a file, a folder or a pattern (also with **) whose files are one table. " +
      "Postgres: location (postgres://user@host:5432/database, without a password), password (a reference to a secret that the " +
      'operator keeps, {"env": NAME}), sslmode (disable, require, verify-ca or verify-full; by default verify-full), sslrootcert (a ' +
      "reference to PEM). BigQuery: project_id, which pays for the queries, and location, where the datasets are. " +
      "Events: none; its table events holds what was sent to POST /v0/events.",
    examples: [
      { type: "File", location: "shop/*.csv" },
      { type: "File", tables: { interactions: "shop/clicks/**/*.parquet", items: "shop/items.csv" } },
      {
        type: "Postgres",
        location: "postgres://reader@db.example/shop",
        password: { env: "SHORTLIST_SECRET_ACME__DB" },
        sslmode: "verify-full",
      },
      { type: "BigQuery", project_id: "acme-shop", location: "EU" },
      { type: "Events" },
    ],
  });
export type ConnectorConfig = z.infer<typeof ConnectorConfig>;

export const Source = z.strictObject({
  connector_id: z.string().min(1).max(63).optional(),
  query: z
    .string()
    .min(1)
    .refine((text) => new TextEncoder().encode(text).length <= QUERY_BYTES_MAX, "must be at most 64 KiB")
    .meta({
      description: `One SELECT in the store's own SQL, at most ${QUERY_BYTES_MAX / 1024} KiB of UTF-8. Each file is a table.`,
      maxLength: QUERY_BYTES_MAX,
      examples: ["SELECT * FROM interactions"],
    }),
});
export type Source = z.infer<typeof Source>;

const Entity = z.strictObject({
  id: Column,
  source: Source.optional(),
  features: z
    .array(z.strictObject({ name: Column, type: FeatureType }))
    .max(200)
    .optional()
    .meta({
      description:
        "Other columns of this source, each named once, at most 200. Without this list, every other column of the source is a feature. " +
        "A Vector is a list of numbers of one length that describes an item; it places new items in lists, and is in no filter.",
      examples: [[{ name: "category", type: "Category" }]],
    }),
});

const ItemEntity = Entity.extend({
  created_at: Column.optional().meta({
    description:
      "The attribute with the time from which an item is on offer, of the type Timestamp. It orders lists of the newest items.",
    examples: ["launched"],
  }),
  only_catalog_items: z
    .boolean()
    .optional()
    .meta({
      description:
        "Whether only items that the source of items has may be in lists; default: true with a source. Interactions with others are " +
        "learnt from all the same.",
    }),
});

export const ModelSchema = z.strictObject({
  user: Entity,
  item: ItemEntity,
  interaction: z.strictObject({
    created_at: Column.meta({
      description:
        "The column of the time: a timestamp, ISO 8601 (UTC without a zone), epoch seconds or finer, digits of a day such as 20241231, " +
        "or one written format, which is found from all rows.",
    }),
    created_at_format: z
      .string()
      .max(60)
      .regex(/%/, "must be a format of strptime, such as %d/%m/%Y %H:%M")
      .optional()
      .meta({
        description:
          "How times are written that are texts or digits, as for strptime. Needed only where day and month could be either.",
        examples: ["%d/%m/%Y", "%m/%d/%Y %I:%M %p"],
      }),
    label: Label,
    source: Source,
    session_id: Column.optional().meta({
      description:
        "The column of the session in which the interaction happened. With it, the model learns and is chosen by what comes next in a " +
        "session. A rank call with `interactions` is then scored by them alone. It may be the column of the user ids. A value belongs to " +
        "its user: the same value of two users means two sessions. Interactions without a value are one session of their user while " +
        "they follow each other within 30 minutes.",
      examples: ["session_id"],
    }),
    repeats: z
      .boolean()
      .optional()
      .meta({
        description:
          "Whether items of a session may come again in the same session. If true, a rank call may answer with its own `interactions`, " +
          "except those that the user of `user_id` has seen. Only with session_id; default: false.",
      }),
    incremental: z.boolean().optional(),
    keep_null_words: z
      .boolean()
      .optional()
      .meta({
        description:
          `Whether ids that are exactly one of ${NULL_WORDS.join(", ")} are ids. By default, rows with such an id of a user or an item ` +
          "are left out and counted by word, also those of the users' and items' own sources. Ids of live events are always kept.",
      }),
    trim_ids: z
      .boolean()
      .optional()
      .meta({
        description:
          "Whether blanks around ids of users, items and sessions are removed, so that ids which differ by them alone become one. " +
          "Calls then use the ids without blanks. Default: false.",
      }),
    events: EventMeanings.optional(),
  }),
});
export type ModelSchema = z.infer<typeof ModelSchema>;

/** What the choice of a method maximises. The metrics are defined in trainer/choose/evaluate/metrics.ts. */
export const Objective = z
  .strictObject({
    metric: z
      .string()
      .regex(
        /^(ndcg|recall|mrr|hr)@([1-9]|[1-4][0-9]|50)$/,
        "must be ndcg@k, recall@k, mrr@k or hr@k with k from 1 to 50",
      )
      .default("ndcg@10"),
    coverage_min: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({
        description:
          "The fraction of all items that the first k places of all lists should show together. A method that shows less " +
          "is chosen only if no other one is reliably better than popularity.",
      }),
  })
  .meta({
    description: "How methods are compared on held-out interactions. Default: ndcg@10.",
    examples: [{ metric: "recall@20", coverage_min: 0.2 }],
  });

export const TrainAfterEvents = z
  .int()
  .min(1)
  .max(1e12)
  .meta({
    description:
      "The model also trains after this many new events, at most once per hour or what the operator allows. Events of a user in one " +
      "call count once. A small model trains by itself when its events have doubled.",
  });

/** Changed values that are older than a training's data by more than this are the source's again. */
export const ITEMS_LAG_HOURS_DEFAULT = 24;
export const ItemsLagHours = z
  .number()
  .min(0)
  .max(24 * 30)
  .meta({
    description:
      "How many hours the source of items may lag behind. A training drops changed values of items (PATCH …/items) that are older than " +
      `its data by more than this. Default: ${ITEMS_LAG_HOURS_DEFAULT}; 0 for a live database.`,
    examples: [24],
  });

const SpecFields = z.strictObject({
  model_name: ModelName,
  connector_configs: z.array(ConnectorConfig).min(1).max(10),
  schema: ModelSchema,
  train_schedule: z
    .string()
    .min(1)
    .max(100)
    .default("@once")
    .meta({
      description:
        "When the model trains again: @once, @hourly, @daily, @weekly (counted from its creation) or a cron line of five fields, in UTC.",
      examples: ["@daily", "30 4 * * 1"],
    }),
  train_after_events: TrainAfterEvents.optional(),
  items_lag_hours: ItemsLagHours.optional(),
  objective: Objective.optional(),
  canary: Canary.optional(),
  holdout: Holdout.optional(),
});

/** The body of `POST /v0/models`. Stored specifications are not checked again, since they may be older than these rules. */
export const ModelSpec = SpecFields.superRefine((spec, context) => {
  for (const fault of [...connectorFaults(spec), ...columnFaults(spec.schema), ...eventFaults(spec)])
    context.addIssue({ code: "custom", ...fault });
});
export type ModelSpec = z.infer<typeof ModelSpec>;

/** The body of `POST …/train`. No body is the same as an empty one. */
export const TrainBody = z.strictObject({
  ignore: z
    .array(z.enum(IGNORABLE))
    .max(10)
    .optional()
    .meta({
      description:
        "Refusals that this training ignores. source_shrunken: a source has lost more than half of its rows, or all values of an attribute.",
      examples: [["source_shrunken"]],
    }),
});

type Fault = { readonly path: (string | number)[]; readonly message: string };

/** With several connectors, each needs a unique id, and each source must name one. */
function connectorFaults({ connector_configs, schema }: z.infer<typeof SpecFields>): Fault[] {
  const ids = connector_configs.map((config) => config.id);
  if (ids.length < 2) return [];
  const faults = ids.flatMap((id, i): Fault[] => {
    const path = ["connector_configs", i, "id"];
    if (id === undefined) return [{ path, message: "is required with several connectors" }];
    return ids.indexOf(id) === i ? [] : [{ path, message: `repeats ${JSON.stringify(id)}` }];
  });
  for (const name of ["user", "item", "interaction"] as const) {
    const { source } = schema[name];
    if (source === undefined) continue;
    const path = ["schema", name, "source", "connector_id"];
    const id = source.connector_id;
    if (id === undefined) faults.push({ path, message: "is required with several connectors" });
    else if (!ids.includes(id)) faults.push({ path, message: `names no connector: ${JSON.stringify(id)}` });
  }
  return faults;
}

/** The type of the connector that reads the customer's events, and the only query of interactions that it takes. */
export const EVENTS = "Events";
export const EVENTS_QUERY = "SELECT * FROM events";
/** The columns of the events as a schema. It is the only one for a model whose interactions are events. */
export const EVENTS_SCHEMA: ModelSchema = {
  user: { id: "user_id" },
  item: { id: "item_id" },
  interaction: {
    created_at: "created_at",
    label: { type: "Binary", name: "label" },
    source: { query: EVENTS_QUERY },
    keep_null_words: true, // a rank call with such an id reads the user's events, so a training has to know them too
  },
};

/** The schema by which a source is read: live events keep their ids as they were sent. */
export function schemaToRead(spec: ModelSpec): ModelSchema {
  const { schema } = spec;
  if (connectorOf(spec, schema.interaction.source).type !== EVENTS) return schema;
  return { ...schema, interaction: { ...schema.interaction, keep_null_words: true, trim_ids: false } };
}

/** What a rank call reads as live events must be what a training reads, neither more nor less. */
function eventFaults({ connector_configs, schema, train_after_events }: z.infer<typeof SpecFields>): Fault[] {
  const { interaction, user, item } = schema;
  if (train_after_events !== undefined && !interaction.events)
    return [{ path: ["train_after_events"], message: "needs schema.interaction.events" }];
  const places = connector_configs.flatMap(({ type }, i) => (type === EVENTS ? [i] : []));
  const at = (...path: string[]) => ["schema", ...path];
  const events = at("interaction", "events");
  if (places.length === 0)
    return interaction.events ? [{ path: events, message: "needs a connector of type Events" }] : [];
  const faults: Fault[] = places
    .slice(1)
    .map((i) => ({ path: ["connector_configs", i, "type"], message: "is there already: one Events is enough" }));
  if (!interaction.events) faults.push({ path: events, message: "is required with a connector of type Events" });
  const { query, connector_id } = interaction.source;
  if (connector_configs.length > 1 && connector_configs[places[0]!]!.id !== connector_id) return faults;
  const required = (path: string[], value: unknown, wanted: unknown) => {
    if (value !== wanted)
      faults.push({ path, message: `must be ${JSON.stringify(wanted)} where interactions come from Events` });
  };
  const own = EVENTS_SCHEMA.interaction;
  required(at("interaction", "source", "query"), query, EVENTS_QUERY);
  required(at("user", "id"), user.id, EVENTS_SCHEMA.user.id);
  required(at("item", "id"), item.id, EVENTS_SCHEMA.item.id);
  required(at("interaction", "created_at"), interaction.created_at, own.created_at);
  required(at("interaction", "label", "type"), interaction.label.type, own.label.type);
  required(at("interaction", "label", "name"), interaction.label.name, own.label.name);
  if (interaction.session_id !== undefined)
    faults.push({ path: at("interaction", "session_id"), message: "is not for Events, which have no sessions" });
  if (interaction.incremental)
    faults.push({
      path: at("interaction", "incremental"),
      message: "is not for Events, of which only new files are read anyway",
    });
  return faults;
}

/** Checks that the columns of the interaction query differ where they must, and that features are other columns. */
function columnFaults({ user, item, interaction }: ModelSchema): Fault[] {
  const faults = [...featureFaults("user", user), ...featureFaults("item", item)];
  if (user.id === item.id)
    faults.push({ path: ["schema", "item", "id"], message: "is the same column as the ids of users" });
  const { session_id: session, repeats, created_at, label } = interaction;
  const path = ["schema", "interaction"];
  if (session !== undefined && [item.id, created_at, label.name].includes(session))
    faults.push({ path: [...path, "session_id"], message: "is the column of the item, the time or the label" });
  if (repeats !== undefined && session === undefined)
    faults.push({ path: [...path, "repeats"], message: "needs schema.interaction.session_id" });
  return faults;
}

function featureFaults(name: "user" | "item", { id, source, features = [] }: z.infer<typeof Entity>): Fault[] {
  const path = ["schema", name, "features"];
  if (features.length > 0 && source === undefined)
    return [{ path, message: "need a source beside them: they are columns of its query" }];
  const names = features.map((feature) => feature.name);
  return names.flatMap((feature, i): Fault[] => {
    const at = [...path, i, "name"];
    if (feature === id) return [{ path: at, message: "is the column of the ids, which is not a feature" }];
    return names.indexOf(feature) === i ? [] : [{ path: at, message: `repeats ${JSON.stringify(feature)}` }];
  });
}

/** The connector that a source names. If there is only one connector, the name does not matter. */
export function connectorOf(spec: ModelSpec, source: Source): ConnectorConfig {
  const found = spec.connector_configs.find((config) => config.id === source.connector_id);
  return spec.connector_configs.length === 1 ? spec.connector_configs[0]! : found!;
}

/** The connector from which events join the interactions of another source; undefined where there is no such connector. */
export function joinedEventsOf(spec: ModelSpec): ConnectorConfig | undefined {
  if (!spec.schema.interaction.events || connectorOf(spec, spec.schema.interaction.source).type === EVENTS)
    return undefined;
  return spec.connector_configs.find(({ type }) => type === EVENTS);
}
