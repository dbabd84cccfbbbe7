import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import { checkAttributes, readAttributes } from "../../../../../trainer/read/dataset/read-attributes.ts";
import { openStaging, runStaged, type Staging, stageRows } from "../../../../../trainer/read/dataset/staging.ts";
import {
  findPostgres,
  type PostgresServer,
  postgresConfig,
  postgresContext,
  startPostgres,
} from "../../../../fixtures/postgres-server.ts";

const bin = findPostgres();
const { signal } = new AbortController();

describe.skipIf(!bin)("attributes of a real server", () => {
  let server: PostgresServer;
  let folder: string;
  let staging: Staging;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    folder = await mkdtemp(join(tmpdir(), "postgres-attributes-"));
    staging = await openStaging({ workDirectory: folder, memoryMb: 128, signal });
  });
  afterAll(async () => {
    await staging.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  test("money is a number, a jsonb array and an int[] are lists, and an int[][] is left out", async () => {
    const connector = await connect(postgresConfig(server, "postgres"), postgresContext(server));
    const source = await connector.read(
      `SELECT * FROM (VALUES
        ('a', '1234.5'::money, '["café, bar", null, "b"]'::jsonb, '{"x": 1}'::jsonb, '{7,8}'::int[], '{{1,2},{3,4}}'::int[][]),
        ('b', '2'::money, '["b"]', '{"x": 2}', '{8}', '{{5}}')) v(i, price, tags, detail, sizes, matrix)`,
      { signal },
    );
    const table = await stageRows(staging, { name: "item_rows", source });
    await connector.close();
    const staged = await checkAttributes(staging, table, { entity: { id: "i" }, what: "item" });
    await runStaged(staging, "CREATE TABLE items AS SELECT unnest(['a', 'b']) AS text");
    const { columns } = await readAttributes(staging, staged, { index: "items", count: 2 });
    expect(columns).toMatchObject([
      { name: "price", type: "Numerical", values: Float64Array.of(1234.5, 2) },
      { name: "tags", type: "CategoryList", dictionary: ["b", "café, bar"], codes: Uint32Array.of(0, 1, 0) },
      { name: "sizes", type: "CategoryList", dictionary: ["7", "8"], codes: Uint32Array.of(0, 1, 1) },
    ]);
    expect(staged.warnings).toEqual([
      'The item attribute "price" is read as numbers with a decimal point (2 in $)',
      'The item attribute "tags" is read as lists in brackets',
      'The item attribute "detail" was left out: its values are objects; give it the field that matters, with the query',
      'The item attribute "matrix" was left out: its lists contain lists; give it the elements of one list',
    ]);
  });
});
