import { DuckDBInstance } from "@duckdb/node-api";
import { countOf, type PackedStrings, stringAt } from "../../shared/packed-strings.ts";
import { identifier } from "../connectors/duckdb-quote.ts";
import type { AttributeColumn } from "../dataset/dataset.ts";
import { checkAttributes, readAttributes } from "../dataset/read-attributes.ts";
import type { StagedTable, Staging } from "../dataset/staging.ts";
import { InteractionFileError, scanOf } from "./interaction-files.ts";

const ROWS = "user_rows";

/**
 * The attributes of some users, in their order, of a file with one row for each: read as a customer's user query is, types inferred.
 *
 * @param userColumn The column of the id, as in the files of interactions.
 * @throws InteractionFileError
 */
export async function readUserFile(
  path: string,
  { userColumn, userIds }: { readonly userColumn: string; readonly userIds: PackedStrings },
): Promise<readonly AttributeColumn[]> {
  const { signal } = new AbortController();
  const instance = await DuckDBInstance.create(":memory:");
  const staging: Staging = { connection: await instance.connect(), close: async () => instance.closeSync() };
  try {
    await stageIds(staging, userIds);
    const table = await stageFile(staging, path, userColumn);
    const staged = await checkAttributes(staging, table, { entity: { id: userColumn }, what: "user", signal });
    return (await readAttributes(staging, staged, { index: "users", count: countOf(userIds), signal })).columns;
  } finally {
    staging.connection.closeSync();
    await staging.close();
  }
}

async function stageIds({ connection }: Staging, ids: PackedStrings): Promise<void> {
  await connection.run("CREATE TABLE users (text VARCHAR)");
  const appender = await connection.createAppender("users");
  for (let user = 0; user < countOf(ids); user++) {
    appender.appendVarchar(stringAt(ids, user));
    appender.endRow();
  }
  appender.closeSync();
}

async function stageFile({ connection }: Staging, path: string, userColumn: string): Promise<StagedTable> {
  try {
    const described = await connection.runAndReadAll(`SELECT * FROM ${scanOf(path)} LIMIT 0`);
    const types = described.columnTypes();
    const all = described.columnNames().map((name, i) => ({ name, type: types[i]! }));
    const id = all.find(({ name }) => name === userColumn);
    if (id === undefined) {
      const found = all.slice(0, 50).map(({ name }) => JSON.stringify(name));
      throw new InteractionFileError(
        `${path} has no column ${JSON.stringify(userColumn)} for the users' ids; its columns are ${found.join(", ")}.`,
      );
    }
    const columns = [id, ...all.filter((column) => column !== id)].map((column, i) => ({ ...column, sql: `c${i}` }));
    const named = columns.map(({ name, sql }) => `${identifier(name)} AS ${sql}`);
    await connection.run(`CREATE TABLE ${ROWS} AS SELECT ${named.join(", ")} FROM ${scanOf(path)}`);
    const [[rows] = [0]] = (await connection.runAndReadAll(`SELECT count(*) FROM ${ROWS}`)).getRows();
    return { name: ROWS, rows: Number(rows), columns };
  } catch (error) {
    if (error instanceof InteractionFileError) throw error;
    const [first] = String(error instanceof Error ? error.message : error).split("\n");
    throw new InteractionFileError(`${path} cannot be read: ${first}`, { cause: error });
  }
}
