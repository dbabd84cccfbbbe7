import { expect, test } from "vitest";
import {
  connectorsOf,
  openQuery,
  stageOpened,
  stagingProgress,
  unreadableOf,
} from "../../../../trainer/read/dataset/stage-query.ts";
import type { StageProgress } from "../../../../trainer/stage/stage-reporter.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { specOf } from "../../../fixtures/rows-spec.ts";
import { openStagedRows } from "../../../fixtures/rows-staged.ts";

const { signal } = new AbortController();
const context = { customer: "test", settings: fileSettings([], "") };
const source = { query: "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y'" };

test("a connector is opened once, at its first use, and all are closed although one fails to close", async () => {
  const calls: string[] = [];
  const connectors = connectorsOf(specOf({ interactions: "" }), {
    context,
    connect: async (config, given) => {
      calls.push("open");
      const connector = await connectMemory(config, given);
      return {
        ...connector,
        close: async () => {
          calls.push("close");
          await connector.close();
          throw new Error("the store is gone");
        },
      };
    },
  });
  expect(calls).toEqual([]);
  expect(await connectors.of(source)).toBe(await connectors.of(source));
  await connectors.close();
  expect(calls).toEqual(["open", "close"]);
});

test("what connectors have noted is said once, also after they are closed", async () => {
  const connectors = connectorsOf(specOf({ interactions: "" }), {
    context,
    connect: async (...given) => ({ ...(await connectMemory(...given)), notes: () => ["a", "b", "a"] }),
  });
  expect(connectors.notes()).toEqual([]);
  await connectors.of(source);
  expect(connectors.notes()).toEqual(["a", "b"]);
  await connectors.close();
  expect(connectors.notes()).toEqual(["a", "b"]);
});

test("a query's chosen columns are staged in their order", async () => {
  const staged = await openStagedRows();
  const connectors = connectorsOf(specOf({ interactions: "" }), { context, connect: connectMemory });
  const progress: StageProgress[] = [];
  const options = { connectors, signal, progress: (one: StageProgress) => progress.push(one) };
  const choose = (available: readonly string[]) => [...available].reverse();
  const opened = await openQuery({ source, name: "rows_of_it", what: "things", choose }, options);
  expect(opened.columns.map(({ name, type }) => `${name} ${type}`)).toEqual(["b VARCHAR", "a INTEGER"]);
  const { table, unreadable } = await stageOpened(staged.staging, opened, options);
  expect([table.rows, table.columns.map(({ sql, name }) => `${sql} ${name}`), unreadable]).toEqual([
    2,
    ["c0 b", "c1 a"],
    {},
  ]);
  expect(progress.map(({ detail }) => detail)).toEqual(["connecting for things", "reading things"]);
  await connectors.close();
  await staged.close();
});

test("origins, progress and unreadable rows are reported", () => {
  const connectors = connectorsOf(specOf({ interactions: "" }), { context });
  const reports: StageProgress[] = [];
  const options = { connectors, signal, progress: (one: StageProgress) => reports.push(one) };
  const rows = { columns: [], chunks: (async function* () {})(), expectedRows: 10, origin: "job 7" };
  const opened = { connector: {} as never, query: "", name: "", what: "things", columns: [] };
  const progress = stagingProgress(opened, rows, options);
  progress(5);
  progress(50);
  expect(connectors.origins).toEqual(["things: job 7"]);
  expect(reports.map(({ fraction }) => fraction)).toEqual([0.5, 0.99]);
  expect(unreadableOf({ ...rows, unreadable: () => ({ malformed_line: 3 }) })).toEqual({
    malformed_line: { count: 3, firstRows: [] },
  });
});
