import { expect, test } from "vitest";
import type { Connector, ReadOptions, SourceRows } from "../../trainer/read/connectors/connector.ts";
import { StageError } from "../../trainer/stage/stage-error.ts";

export type ColumnKind = "integer" | "double" | "text" | "boolean" | "timestamp" | "text[]";

/** A table to be put into a store. Times are ISO text in UTC; integers beyond 2^53 are bigint. */
export type StoredTable = {
  readonly columns: Readonly<Record<string, ColumnKind>>;
  readonly rows: readonly (readonly unknown[])[];
};

export type ConnectorCase = {
  /** A connector to a new store that holds only this table, named "things". */
  holding(table: StoredTable): Promise<Connector>;
};

const never = new AbortController().signal;

/** The tests that every connector must pass. */
export function connectorSuite({ holding }: ConnectorCase): void {
  const using = async (table: StoredTable, check: (connector: Connector) => Promise<void>) => {
    const connector = await holding(table);
    try {
      await check(connector);
    } finally {
      await connector.close();
    }
  };
  const read = async (connector: Connector, query: string, options: Partial<ReadOptions> = {}) =>
    await collect(await connector.read(query, { signal: never, ...options }));

  const small: StoredTable = {
    columns: { id: "integer", name: "text", at: "timestamp", good: "boolean", price: "double" },
    rows: [
      [7, "seven", "2024-01-02T03:04:05.000Z", true, 1.5],
      [8, "", "2024-01-02T03:04:06.000Z", false, -2],
      [9, null, null, null, null],
    ],
  };
  const many: StoredTable = {
    columns: { n: "integer" },
    rows: Array.from({ length: 10_000 }, (_, i) => [i]),
  };

  test("reads every row and distinguishes null from the empty string", () =>
    using(small, async (connector) => {
      const { columns, rows } = await read(connector, "SELECT * FROM things ORDER BY id");
      expect(columns).toEqual(["id", "name", "at", "good", "price"]);
      expect(rows.map((row) => [Number(row.id), row.name, row.good, row.price])).toEqual([
        [7, "seven", true, 1.5],
        [8, "", false, -2],
        [9, null, null, null],
      ]);
      const micros = (value: unknown) => (value as { micros: bigint } | null)?.micros;
      expect(rows.map((row) => micros(row.at))).toEqual([1704164645000000n, 1704164646000000n, undefined]);
    }));

  test("an empty table has columns and no rows", () =>
    using({ ...small, rows: [] }, async (connector) => {
      const { columns, rows } = await read(connector, "SELECT * FROM things");
      expect(columns).toEqual(["id", "name", "at", "good", "price"]);
      expect(rows).toEqual([]);
    }));

  test("rows come in chunks of at most 2048, and none is lost", () =>
    using(many, async (connector) => {
      const source = await connector.read("SELECT n FROM things", { signal: never });
      const sizes: number[] = [];
      const seen = new Set<number>();
      for await (const chunk of source.chunks) {
        sizes.push(chunk.rowCount);
        for (const value of chunk.getColumnValues(0)) seen.add(Number(value));
      }
      expect(Math.max(...sizes)).toBeLessThanOrEqual(2048);
      expect(seen.size).toBe(10_000);
    }));

  test("integers beyond 2^53 are not rounded", () =>
    using({ columns: { id: "integer" }, rows: [[9_007_199_254_740_993n]] }, async (connector) => {
      expect((await read(connector, "SELECT id FROM things")).rows).toEqual([{ id: 9_007_199_254_740_993n }]);
    }));

  test("reads only the requested columns, in their order", () =>
    using(small, async (connector) => {
      const { columns, rows } = await read(connector, "SELECT * FROM things ORDER BY id", { columns: ["name", "id"] });
      expect(columns).toEqual(["name", "id"]);
      expect(rows.map((row) => row.name)).toEqual(["seven", "", null]);
    }));

  test("reads at most as many rows as the limit", () =>
    using(many, async (connector) => {
      expect((await read(connector, "SELECT n FROM things", { limit: 3 })).rows.length).toBe(3);
    }));

  test("inspect gives the columns, and the connector can read afterwards", () =>
    using(small, async (connector) => {
      const query = "SELECT id, name FROM things ORDER BY id";
      const found = await connector.inspect(query, never);
      expect(found.columns.map(({ name }) => name)).toEqual(["id", "name"]);
      expect((await read(connector, query)).rows.length).toBe(3);
    }));

  test.each(["SELECT * FROM nothing_like_that", "SELECT nothing FROM things", "SELEC 1"])(
    "a query that cannot run is a StageError of fetching: %s",
    (query) => using(small, async (connector) => expect(await failure(() => read(connector, query))).toBe("fetching")),
  );

  test.each([
    "DELETE FROM things",
    "DROP TABLE things",
    "CREATE TABLE other (n integer)",
    "INSERT INTO things SELECT * FROM things",
    "UPDATE things SET id = 1",
  ])("a statement that writes is refused, and changes nothing: %s", (query) =>
    using(small, async (connector) => {
      expect(await failure(() => read(connector, query))).toBe("fetching");
      expect((await read(connector, "SELECT id FROM things")).rows.length).toBe(3);
    }),
  );

  test("the connector can read after a failure", () =>
    using(small, async (connector) => {
      await failure(() => read(connector, "SELECT nothing FROM things"));
      expect((await read(connector, "SELECT id FROM things")).rows.length).toBe(3);
    }));

  test("an aborted signal stops the reading and its reason is thrown", () =>
    using(many, async (connector) => {
      const reason = new Error("stop now");
      await expect(read(connector, "SELECT n FROM things", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const controller = new AbortController();
      const source = await connector.read("SELECT n FROM things", { signal: controller.signal });
      const rest = async () => {
        for await (const _ of source.chunks) controller.abort(reason);
      };
      await expect(rest()).rejects.toBe(reason);
    }));

  test("a reader can stop early and read again", () =>
    using(many, async (connector) => {
      const source = await connector.read("SELECT n FROM things", { signal: never });
      for await (const _ of source.chunks) break;
      expect((await read(connector, "SELECT n FROM things")).rows.length).toBe(10_000);
    }));
}

async function collect(source: SourceRows) {
  const columns = source.columns.map(({ name }) => name);
  const rows: Record<string, unknown>[] = [];
  for await (const chunk of source.chunks)
    for (const row of chunk.getRows()) rows.push(Object.fromEntries(columns.map((name, i) => [name, row[i]])));
  return { columns, rows };
}

/** The stage of the StageError that a step throws. */
async function failure(step: () => Promise<unknown>): Promise<string> {
  try {
    await step();
  } catch (error) {
    expect(error).toBeInstanceOf(StageError);
    return (error as StageError).stage;
  }
  return "no failure";
}
