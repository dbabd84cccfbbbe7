import { expect, test } from "vitest";
import { EMPTY_CREATION, guessesFor, queryOfFile, specOf } from "../../../edge/console/create-spec.ts";
import { ModelSpec } from "../../../shared/model-spec.ts";

test.each([
  ["files", { location: "shop/*.csv", items: "SELECT * FROM items" }],
  [
    "Postgres with events",
    { type: "Postgres", location: "postgres://reader@db/shop", secret: "S", events: "view, buy" },
  ],
  ["sessions", { location: "clicks.csv", session: "session_id", repeats: true }],
  ["BigQuery", { type: "BigQuery", project: "acme", location: "EU", users: "SELECT * FROM users" }],
  ["events alone", { type: "Events", events: "view" }],
] as const)("a model of %s is a valid specification", (_, part) => {
  const spec = specOf({ ...EMPTY_CREATION, name: "shop", ...part });
  expect(ModelSpec.safeParse(spec).error?.issues ?? []).toEqual([]);
});

test("an objective is only in the specification if it is not the default", () => {
  expect(specOf(EMPTY_CREATION)).not.toHaveProperty("objective");
  const form = { ...EMPTY_CREATION, name: "shop", metric: "recall@20", coverage: "0.3", schedule: "30 4 * * 1" };
  const spec = { ...specOf(form), objective: { metric: "recall@20", coverage_min: 0.3 }, train_schedule: "30 4 * * 1" };
  expect(specOf(form)).toEqual(spec);
  expect(ModelSpec.safeParse(spec).success).toBe(true);
});

test("columns that the source does not have are added by the query", () => {
  const columns = { user: "u", item: "i", time: null, label: null };
  const { interaction } = specOf({ ...EMPTY_CREATION, columns, interactions: "SELECT u, i FROM t" }).schema;
  expect(interaction).toMatchObject({ created_at: "created_at", label: { type: "Binary", name: "label" } });
  expect(interaction.source.query).toBe(
    "SELECT q.*, TIMESTAMP '2000-01-01' AS created_at, true AS label FROM (SELECT u, i FROM t) AS q",
  );
});

test("a label is a type of event where the form has types", () => {
  const labelOf = (part: object) => specOf({ ...EMPTY_CREATION, ...part }).schema.interaction.label;
  expect(labelOf({ positiveTypes: " buy,cart ,," })).toEqual({
    type: "Events",
    name: "label",
    positive: ["buy", "cart"],
  });
  const columns = { ...EMPTY_CREATION.columns, label: null };
  expect(labelOf({ positiveTypes: "buy", columns })).toEqual({ type: "Binary", name: "label" });
});

test("columns are guessed again only if the source does not have the chosen ones", () => {
  const names = ["visitor", "product", "ts", "stars"];
  const sample = [{ stars: 5 }, { stars: 2 }, { stars: 3 }];
  const guessed = guessesFor(EMPTY_CREATION, names, sample);
  expect(guessed).toEqual({
    columns: { user: "visitor", item: "product", time: "ts", label: "stars" },
    positiveFrom: 3,
  });
  const chosen = { ...EMPTY_CREATION, columns: { user: "product", item: "visitor", time: "ts", label: null } };
  expect(guessesFor(chosen, names, sample)).toEqual({ positiveFrom: null });
});

test("the time is the column whose values are times", () => {
  const names = ["user_id", "item_id", "reviewTime", "unixReviewTime"];
  const sample = [{ reviewTime: "in the spring", unixReviewTime: 1_252_800_000 }];
  const form = { ...EMPTY_CREATION, columns: { ...EMPTY_CREATION.columns, time: "when" } };
  expect(guessesFor(form, names, sample).columns).toMatchObject({ time: "unixReviewTime" });
});

test("a file is a table, and a pattern is several", () => {
  expect(queryOfFile("/data/my clicks.csv.gz")).toBe('SELECT * FROM "my clicks"');
  expect(queryOfFile("/data/*.csv")).toBeUndefined();
});
