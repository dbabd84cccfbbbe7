import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringAt } from "../../../../shared/packed-strings.ts";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import { readStaged } from "../../../../trainer/read/dataset/staging.ts";
import { stageCatalog } from "../../../../trainer/read/pushdown/stage-catalog.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { heldTable, type Kind, type Rows, valuesQuery } from "../../../fixtures/pushdown-stores.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { openStagedRows } from "../../../fixtures/rows-staged.ts";

const T = 1_700_000_000;
let connector: Connector;
beforeAll(async () => {
  connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], tmpdir()) });
});
afterAll(() => connector.close());

async function catalog(item: Kind, rows: Rows["rows"]) {
  const staged = await openStagedRows();
  const { signal } = new AbortController();
  const store = {
    dialect: DUCKDB,
    connector,
    hold: async (held: Rows) => valuesQuery(held),
    stop: async () => undefined,
  };
  const kinds = { u: "text", i: item, t: "integer", l: "integer" } as const;
  const table = await heldTable(store, { kinds, rows }, { label: { type: "Binary", name: "l" }, nowSeconds: T });
  try {
    const told: number[] = [];
    const counts = await stageCatalog(staged.staging, { connector, table, signal, told: [] }, (done) =>
      told.push(done),
    );
    const texts = await readStaged(staged.staging, "SELECT text FROM items ORDER BY rowid", signal);
    const ids = texts.map((_, i) => stringAt(counts.itemIds, i));
    expect(texts.map(({ text }) => text)).toEqual(ids);
    return { ids, interactions: [...counts.interactions], positives: [...counts.positives], told };
  } finally {
    await staged.close();
  }
}

test("items by code point, each with its distinct interactions and positives", async () => {
  const rows = [
    ["u", "é", T, 1],
    ["u", "é", T, 1],
    ["v", "é", T, 0],
    ["u", "b", T, 0],
    ["u", "B", T, 1],
    [null, "gone", T, 1],
  ];
  expect(await catalog("text", rows)).toEqual({
    ids: ["B", "b", "é"],
    interactions: [1, 1, 2],
    positives: [1, 0, 1],
    told: [3],
  });
});

test("integers are sorted as the texts that they are as ids", async () => {
  const { ids } = await catalog("integer", [
    ["u", 9, T, 1],
    ["u", 10, T, 1],
    ["u", -1, T, 1],
  ]);
  expect(ids).toEqual(["-1", "10", "9"]);
});
