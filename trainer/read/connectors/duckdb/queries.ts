import type { ConnectorSettings } from "../../../settings.ts";
import type { ReadOptions, SourceColumn } from "../connector.ts";
import { identifier, innerQuery } from "../sql-text.ts";
import type { Sandbox } from "./sandbox.ts";
import { checkSelect } from "./select.ts";
import { columnsOfRows, type QueryStream, type StreamLimits, streamRows } from "./stream.ts";

/** Runs SELECTs over the views of a sandbox, each within the limits of a reading. Errors are those of streamRows. */
export function sandboxQueries(
  { connection, parser, explain: explainPlainly }: Sandbox,
  { timeoutSeconds, rowsMax }: Pick<ConnectorSettings, "timeoutSeconds" | "rowsMax">,
  explain = explainPlainly,
) {
  const limits = (signal: AbortSignal): StreamLimits => ({ signal, timeoutSeconds, rowsMax, explain });
  const stream = (sql: string, signal: AbortSignal) => streamRows(connection, sql, limits(signal));
  return {
    limits,
    stream,
    /** A customer's query as it stands inside another, and what it reads. Throws what checkSelect throws. */
    async check(query: string, tables: readonly string[]) {
      const inner = innerQuery(query);
      const select = await checkSelect(parser, inner, tables).catch((error) => {
        throw explain(error);
      });
      return { inner, select };
    },
    describe: (inner: string, signal: AbortSignal): Promise<SourceColumn[]> =>
      columnsOfRows(connection, `SELECT * FROM (\n${inner}\n)`, limits(signal)),
    rows(inner: string, { signal, columns, limit }: ReadOptions): Promise<QueryStream> {
      const list = columns?.map(identifier).join(", ") ?? "*";
      return stream(`SELECT ${list} FROM (\n${inner}\n)${limit === undefined ? "" : ` LIMIT ${limit}`}`, signal);
    },
  };
}
