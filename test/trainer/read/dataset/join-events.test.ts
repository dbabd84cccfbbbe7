import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import type { UserId } from "../../../../shared/ids.ts";
import type { Label } from "../../../../shared/label.ts";
import { EVENTS_QUERY, type ModelSpec } from "../../../../shared/model-spec.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { readRows, rowsOf, specOf } from "../../../fixtures/rows-spec.ts";

const T = 1_700_000_000;
const events = {
  purchase: { label: true, seen: true },
  like: { label: true, seen: true },
  view: { label: false, seen: true },
};
/** The columns of the events' table, whose numbers of types are in the order of `events`. */
const TABLE = `SELECT user_id, item_id, to_timestamp(${T} + n)::TIMESTAMP AS created_at, n AS positive_type
  FROM (VALUES ('c', 'x', 1), ('c', 'y', 2), ('c', 'z', 0)) v(user_id, item_id, n)`;

const connect: typeof connectMemory = async (config, context) => {
  const memory = await connectMemory(config, context);
  const tableOf = (query: string) => (query === EVENTS_QUERY ? TABLE : query);
  return {
    ...memory,
    inspect: (query, signal) => memory.inspect(tableOf(query), signal),
    read: (query, options) => memory.read(tableOf(query), options),
  };
};

const joined = (label: Label): ModelSpec => {
  const spec = specOf({
    interactions: `SELECT 'a' AS u, i, ${T} AS t, l FROM (VALUES ('x', '4'), ('y', '9')) v(i, l)`,
    label,
  });
  const { interaction } = spec.schema;
  const connector_configs = [
    { id: "rows", type: "Memory" },
    { id: "live", type: "Events" },
  ];
  const source = { ...interaction.source, connector_id: "rows" };
  return { ...spec, connector_configs, schema: { ...spec.schema, interaction: { ...interaction, source, events } } };
};

test.each<[string, Partial<Label>, number[]]>([
  ["a rating is the lowest positive one", { type: "Rating", positive_from: 4 }, [4, 4, 0]],
  ["a weight is 1", { type: "Weight" }, [1, 1, 0]],
  [
    "a type is its number in the label, or that of the weakest",
    { type: "Events", positive: ["purchase", "9"] },
    [2, 1, 0],
  ],
  ["a type has its weight, or 1", { type: "Events", positive: ["purchase", "9"], weights: { purchase: 5 } }, [5, 1, 0]],
])("of a live event that joins other interactions, %s", async (_, label, expected) => {
  const { dataset } = await readRows(joined({ name: "l", ...label } as Label), { connect });
  expect(rowsOf(dataset).slice(2)).toEqual([`c z ${T} 0`, `c x ${T + 1} 1`, `c y ${T + 2} 1`]);
  const ratings = [...dataset.ratings!].slice(2);
  expect([ratings[1], ratings[2], ratings[0]]).toEqual(expected);
});

test("rejected events and rejected rows of the source are counted apart", async () => {
  const spec = joined({ type: "Rating", name: "l", positive_from: 4 });
  const { source } = spec.schema.interaction;
  const query = `${source.query} UNION ALL SELECT 'a', 'x', ${T}, 'many'`;
  const interaction = { ...spec.schema.interaction, source: { ...source, query } };
  const late: typeof connectMemory = async (config, context) => {
    const memory = await connect(config, context);
    const read: typeof memory.read = (sql, options) =>
      memory.read(
        sql === EVENTS_QUERY ? `${TABLE} UNION ALL SELECT 'c', 'late', TIMESTAMP '2100-01-01', 1` : sql,
        options,
      );
    return { ...memory, read };
  };
  const { summary } = await readRows({ ...spec, schema: { ...spec.schema, interaction } }, { connect: late });
  expect(summary.rejected_rows).toEqual({ unparsable_label: 1 });
  expect(summary.warnings.join("\n")).toContain("Events left out: 1 × future_time");
  expect(summary.warnings.join("\n")).toContain("Rows left out (1 of 3 rows, 33");
});

test("rows of the source count as those of the person, too", async () => {
  const persons = new Map([["a", "c"]]) as ReadonlyMap<string, string> as ReadonlyMap<UserId, UserId>;
  const fetched = { meanings: events, files: [], marks: {}, warnings: [], persons };
  const context = { customer: "test", settings: fileSettings([], tmpdir()), events: fetched };
  const { dataset } = await readRows(joined({ name: "l", type: "Weight" } as Label), { connect, context });
  expect(rowsOf(dataset).map((row) => row.split(" ")[0])).toEqual(Array(5).fill("c"));
});
