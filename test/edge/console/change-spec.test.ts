import { describe, expect, test } from "vitest";
import type { ModelSpec } from "../../../edge/client/shortlist.ts";
import { changeBetween, changedSpec, formOf, otherConnectorsOf } from "../../../edge/console/change-spec.ts";
import { type CreateForm, EMPTY_CREATION, specOf } from "../../../edge/console/create-spec.ts";
import { mergePatch } from "../../../shared/merge-patch.ts";
import * as specs from "../../../shared/model-spec.ts";

/** The change of a model, which must be valid and be what the PATCH makes of it. */
function changeOf(spec: ModelSpec, part: Partial<CreateForm>) {
  const after = changedSpec(spec, { ...formOf(spec), ...part });
  expect(specs.ModelSpec.safeParse(after).error?.issues ?? []).toEqual([]);
  const patch = changeBetween(spec, after);
  expect(mergePatch(spec, patch)).toEqual(after);
  return patch;
}
const created = (part: Partial<CreateForm>) => specOf({ ...EMPTY_CREATION, name: "shop", ...part });
const FILE = created({ location: "clicks.csv", items: "SELECT * FROM items", events: "view, buy" });
const POSTGRES = created({ type: "Postgres", location: "postgres://reader@db/shop", secret: "S", sslmode: "require" });
const SESSIONS = created({ location: "clicks.csv", session: "visit", repeats: true });
const EVENTS = created({ type: "Events", events: "view", metric: "mrr@5", coverage: "0.2" });

test.each([
  ["files", FILE],
  ["a database", POSTGRES],
  ["BigQuery", created({ type: "BigQuery", project: "acme", location: "EU", positiveFrom: 4 })],
  ["sessions", SESSIONS],
  ["types of events", created({ location: "clicks.csv", positiveTypes: "buy, cart" })],
  ["events alone", EVENTS],
])("a form that nobody changes is no change, for a model of %s", (_, spec) => {
  expect(changeOf(spec, {})).toEqual({});
  expect(specOf(formOf(spec))).toEqual(spec);
});

test("only what is changed in the form is sent", () => {
  expect(changeOf(FILE, { schedule: "30 4 * * 1" })).toEqual({ train_schedule: "30 4 * * 1" });
  expect(changeOf(FILE, { positiveFrom: 4 })).toEqual({
    schema: { interaction: { label: { type: "Rating", positive_from: 4 } } },
  });
  expect(changeOf(FILE, { items: "" })).toEqual({ schema: { item: { source: null } } });
  expect(changeOf(FILE, { users: "SELECT 1" })).toEqual({
    schema: { user: { source: { connector_id: "source", query: "SELECT 1" } } },
  });
  expect(changeOf(FILE, { metric: "hr@20" })).toEqual({ objective: { metric: "hr@20" } });
  expect(changeOf(EVENTS, { metric: "ndcg@10", coverage: "" })).toEqual({ objective: null });
  expect(changeOf(FILE, { events: "view" })).toEqual({ schema: { interaction: { events: { buy: null } } } });
  expect(changeOf(FILE, { session: "visit" })).toEqual({ schema: { interaction: { session_id: "visit" } } });
  expect(changeOf(SESSIONS, { session: "" })).toEqual({ schema: { interaction: { session_id: null, repeats: null } } });
});

test("a label of another type has no field of the former one, and what the form does not show stays", () => {
  const label = { type: "Events", name: "label", positive: ["buy"], weights: { buy: 5 } };
  const typed = created({ location: "clicks.csv" });
  const spec = {
    ...typed,
    schema: { ...typed.schema, interaction: { ...typed.schema.interaction, label } },
  } as ModelSpec;
  const labelAfter = (part: Partial<CreateForm>) =>
    changedSpec(spec, { ...formOf(spec), ...part }).schema.interaction.label;
  expect(labelAfter({ positiveTypes: "buy, cart" })).toEqual({ ...label, positive: ["buy", "cart"] });
  expect(labelAfter({ positiveTypes: null, positiveFrom: 4 })).toEqual({
    type: "Rating",
    name: "label",
    positive_from: 4,
  });
});

test("a connector is replaced as a whole, and others stay", () => {
  expect(changeOf(POSTGRES, { sslmode: "verify-full", secret: "" })).toEqual({
    connector_configs: [
      { id: "source", type: "Postgres", location: "postgres://reader@db/shop", sslmode: "verify-full" },
    ],
  });
  const [main, events] = FILE.connector_configs;
  expect(changeOf(FILE, { events: "" })).toEqual({
    connector_configs: [main],
    schema: { interaction: { events: null } },
  });
  expect(changeOf(FILE, { location: "new.csv" })).toEqual({
    connector_configs: [{ ...main, location: "new.csv" }, events],
  });
  expect(changeOf(FILE, { type: "Events", items: "" })).toMatchObject({ connector_configs: [{ type: "Events" }] });
});

describe("a model that the form shows in part", () => {
  const interaction = { ...FILE.schema.interaction, source: { connector_id: "clicks", query: "SELECT * FROM clicks" } };
  const meanings = { buy: { label: true, seen: true }, shown: { label: false, seen: false } };
  const spec: ModelSpec = {
    ...FILE,
    train_after_events: 100,
    connector_configs: [
      { id: "items", type: "File", location: "items.csv" },
      { id: "clicks", type: "Postgres", location: "postgres://a@b/c", sslrootcert: { env: "ROOT" } },
      { id: "live", type: "Events" },
    ],
    schema: {
      user: { id: "user_id" },
      item: {
        id: "item_id",
        source: { connector_id: "items", query: "SELECT * FROM items" },
        features: [{ name: "price", type: "Numerical" }],
      },
      interaction: { ...interaction, incremental: true, events: meanings },
    },
  };

  test("keeps what the form does not show", () => {
    expect(changeOf(spec, {})).toEqual({});
    expect(otherConnectorsOf(spec)).toEqual([spec.connector_configs[0]]);
    expect(changeOf(spec, { location: "postgres://a@b/d", events: "buy, shown, view" })).toEqual({
      connector_configs: [
        spec.connector_configs[0],
        { ...spec.connector_configs[1], location: "postgres://a@b/d" },
        spec.connector_configs[2],
      ],
      schema: { interaction: { events: { view: { label: true } } } },
    });
  });
  test("names its only connector when another one comes", () => {
    const { item, interaction: only } = spec.schema;
    const single: ModelSpec = {
      model_name: "shop",
      connector_configs: [{ type: "File", location: "clicks.csv" }],
      schema: {
        user: spec.schema.user,
        item: { ...item, source: { query: "SELECT * FROM items" } },
        interaction: { created_at: only.created_at, label: only.label, source: { query: "SELECT * FROM clicks" } },
      },
    };
    expect(changeOf(single, { schedule: "@daily" })).toEqual({ train_schedule: "@daily" });
    expect(changeOf(single, { events: "view" })).toEqual({
      connector_configs: [
        { id: "source", type: "File", location: "clicks.csv" },
        { id: "events", type: "Events" },
      ],
      schema: {
        item: { source: { connector_id: "source" } },
        interaction: { source: { connector_id: "source" }, events: { view: { label: true } } },
      },
    });
  });
});
