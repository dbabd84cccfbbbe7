import { expect, test } from "vitest";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { type BodyParts, creationBody } from "../../../trainer/local/creation-body.ts";

const table = (name: string, columns: string[]) => ({ path: `/d/${name}.csv`, name, columns });
const parts: BodyParts = {
  name: "films",
  interactions: table("events", ["who", "what", "when"]),
  items: null,
  users: null,
  columns: { user: "who", item: "what", time: "when", label: null },
  ids: { item: null, user: null },
};
const label = { column: "ok", label: { type: "Binary" as const, name: "ok" }, sentence: "", positive: "" };

test("one file gives one connector without an id and a constant label", () => {
  const body = creationBody(parts);
  expect(body).toEqual({
    model_name: "films",
    connector_configs: [{ type: "File", location: "/d/events.csv" }],
    schema: {
      user: { id: "who" },
      item: { id: "what" },
      interaction: {
        created_at: "when",
        label: { type: "Binary", name: "label" },
        source: { query: 'SELECT "who", "what", "when", true AS "label" FROM "events"' },
      },
    },
  });
  ModelSpec.parse(body);
});

test("several files give one connector and query each, with ids renamed as in the interactions", () => {
  const items = table("catalogue", ["id", "title"]);
  const users = table("people", ["who", "age"]);
  const body = creationBody({
    ...parts,
    items,
    users,
    columns: { ...parts.columns, label },
    ids: { item: "id", user: "who" },
  });
  expect(body.connector_configs.map((config) => [config.id, config.location])).toEqual([
    ["interactions", "/d/events.csv"],
    ["items", "/d/catalogue.csv"],
    ["users", "/d/people.csv"],
  ]);
  expect(body.schema.item.source).toEqual({
    connector_id: "items",
    query: 'SELECT "id" AS "what", * EXCLUDE ("id") FROM "catalogue"',
  });
  expect(body.schema.user.source).toEqual({ connector_id: "users", query: 'SELECT * FROM "people"' });
  expect(body.schema.interaction.source.query).toBe('SELECT "who", "what", "when", "ok" FROM "events"');
  ModelSpec.parse(body);
});

test("added columns get names that the table does not have, and quotes are escaped", () => {
  const interactions = table('a"b', ["u", "i", "created_at", "LABEL"]);
  const columns = { user: "u", item: "i", time: null, label: null };
  const { interaction } = creationBody({ ...parts, interactions, columns }).schema;
  expect(interaction.created_at).toBe("_created_at");
  expect(interaction.source.query).toBe(
    `SELECT "u", "i", TIMESTAMP '2000-01-01' AS "_created_at", true AS "_label" FROM "a""b"`,
  );
});
