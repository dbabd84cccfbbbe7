import { StageError } from "../../stage/stage-error.ts";
import type { Connector, SourceRows } from "../connectors/connector.ts";
import { type Relation, relationSql } from "./relation.ts";
import type { SourceTable } from "./source-table.ts";

/** A store that computes relations. */
export type PushedSource = {
  readonly connector: Connector;
  readonly table: SourceTable;
  readonly signal: AbortSignal;
  /** What the store called each reading, such as job ids. Each reading adds one. */
  readonly origins: string[];
};

/** The rows of a relation. Throws what the connector throws. */
export async function openRelation(source: PushedSource, relation: Relation): Promise<SourceRows> {
  const rows = await source.connector.read(relationSql(relation, source.table), { signal: source.signal });
  if (rows.origin !== undefined) source.origins.push(`${relation.kind.replaceAll("_", " ")}: ${rows.origin}`);
  return rows;
}

export type SmallRow = Readonly<Record<string, string | null>>;

const SMALL_ROWS_MAX = 1000;

/** The rows of a small relation, as texts by column. NULL becomes null. */
export const readSmallRelation = async (source: PushedSource, relation: Relation): Promise<SmallRow[]> =>
  await smallRows(await openRelation(source, relation));

/** Few rows as texts by column. Throws StageError `too_many_rows`. */
export async function smallRows({ columns, chunks }: SourceRows): Promise<SmallRow[]> {
  const rows: SmallRow[] = [];
  for await (const chunk of chunks)
    for (const row of chunk.getRows()) {
      if (rows.length >= SMALL_ROWS_MAX)
        throw new StageError("fetching", "too_many_rows", `The store gave more than ${SMALL_ROWS_MAX} rows of totals`);
      rows.push(Object.fromEntries(columns.map(({ name }, i) => [name, row[i] === null ? null : String(row[i])])));
    }
  return rows;
}
