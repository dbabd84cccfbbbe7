import { type DuckDBConnection, DuckDBInstance, DuckDBTypeId, VARCHAR } from "@duckdb/node-api";
import { countOf, type PackedStrings, stringAt } from "../../../shared/packed-strings.ts";
import { identifier } from "../../read/connectors/duckdb/quote.ts";
import type { AttributeColumn } from "../../read/dataset/dataset.ts";
import { checkAttributes, readAttributes } from "../../read/dataset/read-attributes.ts";
import type { StagedTable, Staging } from "../../read/dataset/staging.ts";
import { areWholeDecimals, textOfBytes, withoutPoint } from "./interaction-ids.ts";
import { aboutFile, columnNamed, columnsOf, typedScanOf } from "./interaction-scan.ts";

const ROWS = "attribute_rows";

export type Described = {
  readonly what: "user" | "item";
  /** The column of the id, as in the files of interactions. */
  readonly idColumn: string;
  readonly ids: PackedStrings;
};

/**
 * The attributes of some users or items, in their order, of a file with one row for each: read as a customer's query of them is, types
 * inferred.
 *
 * @throws InteractionFileError
 */
export async function readAttributeFile(
  path: string,
  { what, idColumn, ids }: Described,
): Promise<readonly AttributeColumn[]> {
  const { signal } = new AbortController();
  const index = `${what}s` as const;
  const instance = await DuckDBInstance.create(":memory:");
  const staging: Staging = { connection: await instance.connect(), close: async () => instance.closeSync() };
  try {
    await stageIds(staging, index, ids);
    return await aboutFile(path, async () => {
      const table = await stageFile(staging, path, { idColumn, meaning: ` for the ${what}s' ids` });
      const staged = await checkAttributes(staging, table, { entity: { id: idColumn }, what, signal });
      return (await readAttributes(staging, staged, { index, count: countOf(ids), signal })).columns;
    });
  } finally {
    staging.connection.closeSync();
    await staging.close();
  }
}

async function stageIds({ connection }: Staging, table: string, ids: PackedStrings): Promise<void> {
  await connection.run(`CREATE TABLE ${table} (text VARCHAR)`);
  const appender = await connection.createAppender(table);
  for (let i = 0; i < countOf(ids); i++) {
    appender.appendVarchar(stringAt(ids, i));
    appender.endRow();
  }
  appender.closeSync();
}

type Id = { readonly idColumn: string; readonly meaning: string };

async function stageFile({ connection }: Staging, path: string, { idColumn, meaning }: Id): Promise<StagedTable> {
  const found = await columnsOf(connection, path, { typed: true });
  columnNamed(path, found, idColumn, meaning);
  const scan = await typedScanOf(connection, path, { columns: found, id: idColumn });
  const described = await connection.runAndReadAll(`SELECT * FROM ${scan} LIMIT 0`);
  const all = found.map(({ name }, i) => ({ name, type: described.columnType(i), from: identifier(name) }));
  const given = all.find(({ name }) => name === idColumn)!;
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
