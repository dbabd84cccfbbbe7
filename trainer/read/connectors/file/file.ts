import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { hasCode } from "../../../stage/stage-error.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions, SourceRows } from "../connector.ts";
import { columnsOf } from "../duckdb/columns.ts";
import { findFiles, findTables } from "../duckdb/files.ts";
import { idTextReader } from "../duckdb/id-texts.ts";
import { countMalformed, malformedNotes, rejectCount } from "../duckdb/malformed-lines.ts";
import { sandboxQueries } from "../duckdb/queries.ts";
import { estimateRowsOfAll, plannedRows, sizeOf } from "../duckdb/row-estimate.ts";
import { openSandbox, type Sandbox } from "../duckdb/sandbox.ts";
import { parseConfig } from "../source-error.ts";
import { FileConfig } from "./config.ts";
import {
  canComeFromChange,
  changedError,
  closeFiles,
  type OpenFile,
  openFiles,
  verifyCompressed,
  watchFiles,
} from "./file-watch.ts";
import { asUtf8, type Utf8Files } from "./text-encoding.ts";

/**
 * Tables from files: `shop/*.csv` makes each matching file below the customer's folders a table named by its stem. Formats: CSV,
 * TSV, Parquet, JSON and JSON Lines; the text formats also compressed with gzip or zstd. `tables` instead names tables of many files.
 * Queries are DuckDB's SELECT.
 */
export async function connectFile(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  const { location, tables } = parseConfig(config, FileConfig);
  const { settings } = context;
  const roots = settings.fileRoots;
  const opened = await openFiles(tables ? await findTables(tables, roots) : await findFiles(location!, roots));
  let texts: Utf8Files | undefined;
  try {
    texts = await asUtf8(opened, settings);
    return fileConnector(texts, await openSandbox(texts.files, settings), context);
  } catch (error) {
    await texts?.close();
    await closeFiles(opened);
    throw error;
  }
}

function fileConnector(texts: Utf8Files, sandbox: Sandbox, { settings, idColumns = [] }: ConnectorContext): Connector {
  const { files } = texts;
  const typesAreSure = settings.typedByRows === undefined;
  const queries = sandboxQueries(sandbox, settings);
  const readIds = idTextReader(sandbox, idColumns);
  const watch = watchFiles(files);
  const orChanged = async (error: unknown, read: readonly OpenFile[]): Promise<never> => {
    throw canComeFromChange(error) && (await watch.haveChanged(read)) ? changedError(read) : error;
  };
  const filesRead = new Set<OpenFile>();
  let lineNotes: readonly string[] = [];

  /** Checks a query, whose ids are then read as they are written, and estimates its rows. */
  const check = async (query: string, signal: AbortSignal) => {
    const { inner, select } = await queries.check(query, [...sandbox.tables.keys()]);
    const describe = () => queries.describe(inner, signal).catch(undefinedIfInvalid);
    await readIds({ inner, select, describe });
    signal.throwIfAborted();
    const read = files.filter((file) => select.tables.includes(file.table));
    /** The rows as if the query took all of one table; null for a join of several tables. */
    const estimate = async () => {
      if (select.makesRows) return await plannedRows(sandbox.connection, inner, queries.limits(signal));
      return select.tables.length === 1 ? await estimateRowsOfAll(sandbox.parser, read) : null;
    };
    return { inner, read, estimate, makesRows: select.makesRows };
  };

  return {
    async inspect(query, signal): Promise<Inspection> {
      const { inner, read, makesRows, estimate } = await check(query, signal);
      return {
        columns: await queries.describe(inner, signal).catch((error) => orChanged(error, read)),
        estimatedRows: await estimate(),
        estimatedBytes: makesRows ? null : sizeOf(read),
        estimatedCostUsd: 0,
      };
    },

    async read(query, options: ReadOptions): Promise<SourceRows> {
      const { signal, limit, writtenSinceMs = -Infinity } = options;
      const { inner, read, estimate } = await check(query, signal);
      if (writtenSinceMs > -Infinity) await sandbox.leaveOutOlder(writtenSinceMs);
      const before = filesRead.size === 0 ? 0 : await rejectCount(sandbox.connection, { typesAreSure });
      for (const file of read) filesRead.add(file);
      const expectedRows = limit === undefined ? await estimate() : null;
      const stream = await queries.rows(inner, options).catch((error) => orChanged(error, read));
      let malformed = 0;
      const chunks = async function* () {
        // A reading with a limit ends before the end of the files, so it does not check them.
        const toVerify = limit === undefined ? read.filter(({ writtenMs }) => writtenMs >= writtenSinceMs) : [];
        const whole = Promise.all(toVerify.map((file) => verifyCompressed(file, signal)));
        whole.catch(() => undefined); // thrown below; a reader that stops early never awaits it
        let rows = 0;
        try {
          for await (const chunk of stream.chunks) {
            rows += chunk.rowCount;
            yield chunk;
          }
          await whole;
          if (await watch.haveChanged(toVerify)) throw changedError(read);
        } catch (error) {
          await orChanged(error, read);
        }
        malformed =
          rows === limit
            ? await countMalformed(sandbox.connection, read, { typesAreSure, limits: queries.limits(signal) })
            : (await rejectCount(sandbox.connection, { typesAreSure })) - before;
        if (malformed > 0) lineNotes = await malformedNotes(sandbox.connection, files, { typesAreSure });
      };
      return {
        columns: columnsOf(stream.result),
        chunks: chunks(),
        expectedRows,
        unreadable: () => (malformed > 0 ? { malformed_line: malformed } : {}),
      };
    },

    notes: () => [...[...filesRead].flatMap((file) => texts.notes.get(file) ?? []), ...lineNotes],

    async close() {
      watch.end();
      await sandbox.close();
      await texts.close();
      await closeFiles(files);
    },
  };
}

function undefinedIfInvalid(error: unknown): undefined {
  if (!hasCode(error, "source_query_failed")) throw error;
}
