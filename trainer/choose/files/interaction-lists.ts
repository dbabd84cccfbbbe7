import { type DuckDBConnection, VARCHAR } from "@duckdb/node-api";
import { type FileColumn, linesScanOf } from "./interaction-scan.ts";

/** What a line of such a file has: an id of a user, then those of the user's items, as the splits of LightGCN's authors are published. */
export const LIST_COLUMNS: readonly FileColumn[] = [
  { name: "user_id", type: VARCHAR },
  { name: "item_id", type: VARCHAR },
];

const LINES = 1000;
const PARTS = "regexp_split_to_array(trim(line), '[ \\t]+')";

/**
 * Whether the lines of a text file are whole numbers with blanks between them.
 *
 * @param ragged Whether they must differ in how many there are, as the rows of a table do not.
 */
export async function areLists(
  connection: DuckDBConnection,
  path: string,
  { ragged }: { readonly ragged: boolean },
): Promise<boolean> {
  const scan = linesScanOf(path);
  if (scan === undefined) return false;
  const lines = `(SELECT line FROM ${scan} WHERE trim(line) <> '' LIMIT ${LINES})`;
  const areNumbers = "coalesce(bool_and(regexp_full_match(trim(line), '[0-9]+([ \\t]+[0-9]+)*')), false)";
  const asked = `SELECT ${areNumbers}, count(DISTINCT len(${PARTS})) > 1 FROM ${lines}`;
  // Of what cannot be read as lines, reading it as a table tells what is wrong.
  const reader = await connection.runAndReadAll(asked).catch(() => undefined);
  const [isNumbers, isRagged] = reader?.getRows()[0] ?? [];
  return Boolean(isNumbers) && (Boolean(isRagged) || !ragged);
}

/** SQL of a file's rows, one for each item of each line, in the order of the file. */
export const listsScanOf = (path: string): string =>
  `(SELECT parts[1] AS user_id, unnest(parts[2:]) AS item_id FROM (SELECT ${PARTS} AS parts FROM ${linesScanOf(path)}))`;
