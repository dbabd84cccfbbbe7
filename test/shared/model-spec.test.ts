import { describe, expect, test } from "vitest";
import {
  connectorOf,
  EVENTS_SCHEMA,
  joinedEventsOf,
  ModelName,
  ModelSpec,
  schemaToRead,
} from "../../shared/model-spec.ts";
import { parseWith } from "../../shared/parse-request.ts";

const query = "SELECT * FROM interactions";
const schema = {
  user: { id: "user_id" },
  item: { id: "item_id" },
  interaction: { created_at: "at", label: { type: "Binary", name: "label" }, source: { query } },
};
const body = { model_name: "shop", connector_configs: [{ type: "File", location: "shop/*.csv" }], schema };
const interaction = (change: object) => ({ schema: { ...schema, interaction: { ...schema.interaction, ...change } } });
const faultsOf = (change: object) =>
  (ModelSpec.safeParse({ ...body, ...change }).error?.issues ?? []).map(
    (issue) => `${issue.path.join(".")}: ${issue.message}`,
  );

test("the smallest body, with its defaults", () => {
  expect(ModelSpec.parse(body)).toEqual({ ...body, train_schedule: "@once" });
});

describe("sessions", () => {
  test("may be users, and their items may come again", () => {
    expect(faultsOf(interaction({ session_id: "visit", repeats: true }))).toEqual([]);
    expect(faultsOf(interaction({ session_id: "user_id" }))).toEqual([]);
  });
  test.each<[string, object, string]>([
    ["the item", { session_id: "item_id" }, "session_id: is the column of the item"],
    ["the time", { session_id: "at" }, "session_id: is the column of the item, the time"],
    ["the label", { session_id: "label" }, "session_id: is the column of the item, the time or the label"],
    ["repeats without sessions", { repeats: false }, "repeats: needs schema.interaction.session_id"],
  ])("%s: refused", (_, change, fault) =>
    expect(faultsOf(interaction(change)).join()).toContain(`schema.interaction.${fault}`),
  );
});

describe("connectors", () => {
  const [a, b] = [
    { id: "a", type: "File" },
    { id: "b", type: "Postgres" },
  ];
  const from = (connector_id?: string) => interaction({ source: { query, connector_id } });

  test("a single connector is used whatever name the source gives", () => {
    const spec = ModelSpec.parse({ ...body, ...from("anything") });
    expect(connectorOf(spec, spec.schema.interaction.source)).toMatchObject({ type: "File" });
  });
  test("of several connectors, the named one is used", () => {
    const spec = ModelSpec.parse({ ...body, connector_configs: [a, b], ...from("b") });
    expect(connectorOf(spec, spec.schema.interaction.source)).toMatchObject({ id: "b" });
  });
  test.each<[string, object, string]>([
    ["none", { connector_configs: [] }, "connector_configs: "],
    [
      "several without ids",
      { connector_configs: [a, { type: "File" }], ...from("a") },
      "connector_configs.1.id: is required",
    ],
    ["an id twice", { connector_configs: [a, { ...b, id: "a" }], ...from("a") }, 'connector_configs.1.id: repeats "a"'],
    [
      "a source that names none of several",
      { connector_configs: [a, b] },
      "schema.interaction.source.connector_id: is required",
    ],
    ["a source that names an unknown one", { connector_configs: [a, b], ...from("c") }, 'names no connector: "c"'],
    [
      "an item source that names an unknown one",
      {
        connector_configs: [a, b],
        schema: { ...from("a").schema, item: { id: "i", source: { query, connector_id: "z" } } },
      },
      "schema.item.source.connector_id: names no connector",
    ],
  ])("%s: refused", (_, change, fault) => expect(faultsOf(change).join()).toContain(fault));
});

describe("a contradictory specification is refused with the place of the fault", () => {
  const source = { query };
  const of = (entity: "user" | "item", more: object) => ({
    schema: { ...schema, [entity]: { ...schema[entity], ...more } },
  });
  const named = (...names: string[]) => names.map((name) => ({ name, type: "Category" }));
  test.each<[string, object, string]>([
    ["item features without a source", of("item", { features: named("a") }), "schema.item.features: need a source"],
    ["user features without a source", of("user", { features: named("a") }), "schema.user.features: need a source"],
    [
      "a feature twice",
      of("item", { source, features: [...named("a", "b"), { name: "a", type: "Numerical" }] }),
      'schema.item.features.2.name: repeats "a"',
    ],
    [
      "the id as a feature",
      of("user", { source, features: named("user_id") }),
      "schema.user.features.0.name: is the column of the ids",
    ],
    ["one column for users and items", of("item", { id: "user_id" }), "schema.item.id: is the same column"],
    ["NUL in a column", of("item", { id: "a\0" }), "schema.item.id: must be well-formed"],
    ["a lone surrogate in a column", interaction({ created_at: "\ud800" }), "schema.interaction.created_at: must be"],
  ])("%s", (_, change, fault) => expect(faultsOf(change)).toEqual([expect.stringContaining(fault)]));

  test("similar names are allowed, and equal features of users and items", () => {
    expect(faultsOf(of("item", { source, features: named("a", "A", "user_id") }))).toEqual([]);
    const both = { user: { id: "u", source, features: named("a") }, item: { id: "i", source, features: named("a") } };
    expect(faultsOf({ schema: { ...schema, ...both } })).toEqual([]);
    expect(faultsOf(of("item", { features: [] }))).toEqual([]);
  });
});

describe("events", () => {
  const meanings = { view: { label: true }, impression: { label: false, seen: false } };
  const own = {
    user: { id: "user_id" },
    item: { id: "item_id" },
    interaction: {
      created_at: "created_at",
      label: { type: "Binary", name: "label" },
      source: { query: "SELECT * FROM events" },
      events: meanings,
    },
  };
  const alone = (change: object = {}) => ({
    connector_configs: [{ type: "Events" }],
    schema: { ...own, interaction: { ...own.interaction, ...change } },
  });
  const beside = (events: object | undefined) => ({
    connector_configs: [
      { id: "files", type: "File" },
      { id: "live", type: "Events" },
    ],
    ...interaction({ source: { query, connector_id: "files" }, events }),
  });

  test("as the only source or beside another; whether they are seen is true unless it is given", () => {
    expect([faultsOf(alone()), faultsOf(beside(meanings))]).toEqual([[], []]);
    const { schema } = ModelSpec.parse({ ...body, ...alone() });
    expect(schema.interaction.events).toEqual({ view: { label: true, seen: true }, impression: meanings.impression });
  });

  test("ids of events are read as they were sent, and those of other sources as the schema says", () => {
    const readingOf = (change: object) => schemaToRead(ModelSpec.parse({ ...body, ...change })).interaction;
    const flags = { keep_null_words: false, trim_ids: true };
    expect(readingOf(alone(flags))).toMatchObject({ keep_null_words: true, trim_ids: false });
    expect(readingOf(beside(meanings)).keep_null_words).toBeUndefined();
    expect(readingOf(interaction(flags))).toMatchObject(flags);
    expect(EVENTS_SCHEMA.interaction.keep_null_words).toBe(true);
  });

  test("the connector of the joined events is known only where another source has the interactions", () => {
    expect(joinedEventsOf(ModelSpec.parse({ ...body, ...alone() }))).toBeUndefined();
    expect(joinedEventsOf(ModelSpec.parse({ ...body, ...beside(meanings) }))).toMatchObject({ id: "live" });
  });

  test.each<[string, object, string]>([
    ["without a connector", interaction({ events: meanings }), "schema.interaction.events: needs a connector"],
    ["a connector without them", beside(undefined), "schema.interaction.events: is required"],
    ["runs after events, which it does not know", { train_after_events: 5 }, "train_after_events: needs"],
    ["without a positive type", alone({ events: { view: { label: false } } }), "must have a type whose label is true"],
    [
      "a positive type that is not seen",
      alone({ events: { view: { label: true, seen: false } } }),
      "events.view.seen: ",
    ],
    [
      "a query of some events",
      alone({ source: { query: `${own.interaction.source.query} LIMIT 1` } }),
      "source.query: must be",
    ],
    ["another column", { ...alone(), schema: { ...own, user: { id: "user" } } }, 'schema.user.id: must be "user_id"'],
    [
      "another label",
      alone({ label: { type: "Rating", name: "value", positive_from: 1 } }),
      'label.type: must be "Binary"',
    ],
    ["an incremental source", alone({ incremental: true }), "schema.interaction.incremental: is not for Events"],
    ["a column of sessions", alone({ session_id: "rank_id" }), "schema.interaction.session_id: is not for Events"],
    [
      "two connectors of events",
      {
        ...beside(meanings),
        connector_configs: [...beside(meanings).connector_configs, { id: "more", type: "Events" }],
      },
      "connector_configs.2.type: is there already",
    ],
  ])("%s: refused", (_, change, fault) => expect(faultsOf(change).join()).toContain(fault));
});

test.each<[string, object]>([
  ["an unknown field", { modle_name: "x" }],
  ["an unknown field inside", { schema: { ...schema, items: {} } }],
  ["no label", interaction({ label: undefined })],
  ["a label of an unknown type", interaction({ label: { type: "Stars", name: "s" } })],
  ["types of events without a positive one", interaction({ label: { type: "Events", name: "s", positive: [] } })],
  ["a type of event twice", interaction({ label: { type: "Events", name: "s", positive: ["a", "a"] } })],
  [
    "a weight of a type that is not positive",
    interaction({ label: { type: "Events", name: "s", positive: ["a"], weights: { b: 2 } } }),
  ],
  ["a weight that is 0", interaction({ label: { type: "Events", name: "s", positive: ["a"], weights: { a: 0 } } })],
  ["a rating without its bound", interaction({ label: { type: "Rating", name: "s" } })],
  ["an empty query", interaction({ source: { query: "" } })],
  ["a query of more than 64 KiB", interaction({ source: { query: "é".repeat(32_769) } })],
  [
    "a feature of an unknown type",
    { schema: { ...schema, item: { id: "i", source: { query }, features: [{ name: "x", type: "Color" }] } } },
  ],
  ["no model name", { model_name: undefined }],
])("%s is refused", (_, change) => expect(faultsOf(change)).not.toEqual([]));

describe("every object refuses unknown fields, and every text is bounded", () => {
  const source = { query };
  const { label } = schema.interaction;
  const item = (more: object) => ({ schema: { ...schema, item: { ...schema.item, source, ...more } } });
  const connector = (more: object) => ({ connector_configs: [{ ...body.connector_configs[0], ...more }] });
  const feature = { name: "a", type: "Category" };
  const long = (length: number) => "x".repeat(length);

  test.each<[string, object]>([
    ["schema.item", item({ extra: 1 })],
    ["schema.item.features.0", item({ features: [{ ...feature, extra: 1 }] })],
    ["schema.interaction", interaction({ extra: 1 })],
    ["schema.interaction.source", interaction({ source: { ...source, extra: 1 } })],
    ["schema.interaction.label", interaction({ label: { ...label, extra: 1 } })],
    ["schema.interaction.label", interaction({ label: { type: "Rating", name: "s", positive_from: 1, extra: 1 } })],
  ])("an unknown field in %s", (path, change) =>
    expect(faultsOf(change)).toEqual([expect.stringMatching(new RegExp(`^${path}: .*extra`))]),
  );

  test.each<[string, number, (text: string) => object]>([
    ["schema.item.id", 128, (id) => item({ id })],
    ["schema.item.features.0.name", 128, (name) => item({ features: [{ ...feature, name }] })],
    ["schema.interaction.source.connector_id", 63, (id) => interaction({ source: { query, connector_id: id } })],
    ["connector_configs.0.id", 63, (id) => connector({ id })],
    ["connector_configs.0.type", 40, (type) => connector({ type })],
    ["train_schedule", 100, (train_schedule) => ({ train_schedule })],
  ])("%s has 1 to %i characters", (path, most, change) => {
    expect([1, most].map((length) => faultsOf(change(long(length))))).toEqual([[], []]);
    const outside = expect.stringMatching(`^${path}: `);
    expect([0, most + 1].map((length) => faultsOf(change(long(length))))).toEqual([[outside], [outside]]);
  });

  test("at most 10 connectors and 200 features", () => {
    const connectors = (count: number) => ({
      ...interaction({ source: { query, connector_id: "c0" } }),
      connector_configs: Array.from({ length: count }, (_, i) => ({ id: `c${i}`, type: "File" })),
    });
    const features = (count: number) =>
      item({ features: Array.from({ length: count }, (_, i) => ({ ...feature, name: `f${i}` })) });
    expect([faultsOf(connectors(10)), faultsOf(features(200))]).toEqual([[], []]);
    expect(faultsOf(connectors(11))).toEqual([expect.stringMatching("^connector_configs: ")]);
    expect(faultsOf(features(201))).toEqual([expect.stringMatching("^schema.item.features: ")]);
  });
});

test("a query of 64 KiB and a rating label are allowed", () => {
  expect(faultsOf(interaction({ source: { query: "é".repeat(32_768) } }))).toEqual([]);
  expect(faultsOf(interaction({ label: { type: "Rating", name: "stars", positive_from: 4 } }))).toEqual([]);
});

test.each([
  ["a", true],
  ["Shop-2.b_c", true],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
  ["", false],
  [".hidden", false],
  ["-x", false],
  ["a/b", false],
  ["ä", false],
  ["a b", false],
  ["a\n", false],
])("model name %j: %s", (name, isAllowed) => expect(ModelName.safeParse(name).success).toBe(isAllowed));

test("the error for an unknown feature type lists all types", () => {
  const item = { id: "i", source: { query }, features: [{ name: "tags", type: "List" }] };
  expect(() => parseWith(ModelSpec, { ...body, schema: { ...schema, item } })).toThrow(
    '"Category" or "CategoryList" or "Numerical" or "Boolean" or "Timestamp" or "Text" or "Location" or "Vector", found "List"',
  );
});
