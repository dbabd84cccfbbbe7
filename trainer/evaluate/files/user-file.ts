import { type DuckDBConnection, DuckDBInstance, DuckDBTypeId, VARCHAR } from "@duckdb/node-api";
import { countOf, type PackedStrings, stringAt } from "../../../shared/packed-strings.ts";
import { identifier } from "../../connectors/duckdb/quote.ts";
import type { AttributeColumn } from "../../dataset/dataset.ts";
import { checkAttributes, readAttributes } from "../../dataset/read-attributes.ts";
import type { StagedTable, Staging } from "../../dataset/staging.ts";
import { areWholeDecimals, textOfBytes, withoutPoint } from "./interaction-ids.ts";
import { aboutFile, columnNamed, columnsOf, typedScanOf } from "./interaction-scan.ts";

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
    return await aboutFile(path, async () => {
      const table = await stageFile(staging, path, userColumn);
      const staged = await checkAttributes(staging, table, { entity: { id: userColumn }, what: "user", signal });
      return (await readAttributes(staging, staged, { index: "users", count: countOf(userIds), signal })).columns;
    });
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
  const found = await columnsOf(connection, path, { typed: true });
  columnNamed(path, found, userColumn, " for the users' ids");
  const scan = await typedScanOf(connection, path, { columns: found, id: userColumn });
  const described = await connection.runAndReadAll(`SELECT * FROM ${scan} LIMIT 0`);
  const all = found.map(({ name }, i) => ({ name, type: described.columnType(i), from: identifier(name) }));
  const given = all.find(({ name }) => name === userColumn)!;
  const isBytes = given.type.typeId === DuckDBTypeId.BLOB;
  const id = isBytes ? { ...given, type: VARCHAR, from: textOfBytes(given.from) } : given;
  const columns = [id, ...all.filter((column) => column !== given)].map((column, i) => ({ ...column, sql: `c${i}` }));
  const named = columns.map(({ from, sql }) => `${from} AS ${sql}`);
  await connection.run(`CREATE TABLE ${ROWS} AS SELECT ${named.join(", ")} FROM ${scan}`);
  if (id.type.typeId === DuckDBTypeId.VARCHAR) await dropPoints(connection);
  const [[rows] = [0]] = (await connection.runAndReadAll(`SELECT count(*) FROM ${ROWS}`)).getRows();
  return { name: ROWS, rows: Number(rows), columns };
}

async function dropPoints(connection: DuckDBConnection): Promise<void> {
  const asked = await connection.runAndReadAll(`SELECT ${areWholeDecimals("c0")} FROM ${ROWS}`);
  if (asked.getRows()[0]![0] === true) await connection.run(`UPDATE ${ROWS} SET c0 = ${withoutPoint("c0")}`);
}
