import { guessIdColumn, guessIdColumnByRole, type IdRole } from "../../../shared/guess-columns.ts";
import { identifier, literal } from "../connectors/sql-text.ts";

/** A table that can be asked. */
export type Asked = {
  /** The table as an expression after FROM. */
  readonly name: string;
  readonly columns: readonly string[];
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
};

const IDS_ASKED = 200;
const ROWS_ASKED = 100_000;
/** Ids differ from row to row. An age or a price repeats, although all its values may be ids too. */
const DISTINCT_MIN = 0.5;

/**
 * The column of ids in a table of users, items or orders: that of the same name, also written otherwise; else the one with the most ids
 * of the interactions; else the first that has a usual name of such ids.
 *
 * @param id The column of the interactions.
 */
export async function findIdColumn(
  { id, role }: { readonly id: string; readonly role: IdRole },
  interactions: Asked,
  table: Asked,
): Promise<string | undefined> {
  const spelled = guessIdColumn(id, table.columns);
  if (spelled !== undefined) return spelled;
  const usual = guessIdColumnByRole(role, table.columns);
  const known = `SELECT DISTINCT ${textOf(id)} AS id FROM ${interactions.name} WHERE ${textOf(id)} <> '' LIMIT ${IDS_ASKED}`;
  const [listed] = await interactions.query(`SELECT list(id) AS ids FROM (${known})`);
  const ids = (listed?.ids ?? []) as string[];
  if (ids.length === 0 || table.columns.length === 0) return usual;
  const counts = table.columns.map(
    (column, i) => `count(DISTINCT ${textOf(column)}) FILTER (list_contains(known_ids, ${textOf(column)})) AS found${i},
       approx_count_distinct(${textOf(column)}) >= ${DISTINCT_MIN} * count(${textOf(column)}) AS differ${i}`,
  );
  const [row] = await table.query(
    `SELECT ${counts.join(", ")} FROM (SELECT * FROM ${table.name} LIMIT ${ROWS_ASKED}),
       (SELECT [${ids.map(literal).join(", ")}] AS known_ids)`,
  );
  const found = table.columns.map((_, i) => (row?.[`differ${i}`] === true ? Number(row[`found${i}`]) : 0));
  const most = Math.max(...found);
  const best = table.columns.filter((_, i) => found[i] === most);
  return most === 0 || (usual !== undefined && best.includes(usual)) ? usual : best[0];
}

/** A number is written as in a column of whole numbers: 7, not 7.0. */
export const idTextOf = (value: string) => `regexp_replace(trim(CAST(${value} AS VARCHAR)), '[.]0+$', '')`;
const textOf = (column: string) => idTextOf(identifier(column));
