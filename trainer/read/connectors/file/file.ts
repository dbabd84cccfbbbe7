import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { StageError } from "../../../stage/stage-error.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions, SourceRows } from "../connector.ts";
import { columnsOf } from "../duckdb/columns.ts";
import { findFiles, findTables } from "../duckdb/files.ts";
import { idTextReader } from "../duckdb/id-texts.ts";
import { countMalformed, malformedNotes, rejectCount } from "../duckdb/malformed-lines.ts";
import { estimateRowsOfAll, plannedRows } from "../duckdb/row-estimate.ts";
import { openSandbox, type Sandbox } from "../duckdb/sandbox.ts";
import { checkSelect } from "../duckdb/select.ts";
import { type StreamLimits, streamRows } from "../duckdb/stream.ts";
import { parseConfig } from "../source-error.ts";
import { identifier, innerQuery } from "../sql-text.ts";
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
    texts = await asUtf8(opened, { ...settings, isWhole: settings.typedByRows === undefined });
    return fileConnector(texts, await openSandbox(texts.files, settings), context);
  } catch (error) {
    await texts?.close();
    await closeFiles(opened);
    throw error;
  }
}

function fileConnector(texts: Utf8Files, sandbox: Sandbox, context: ConnectorContext): Connector {
  const { files } = texts;
  const { settings } = context;
  const typesAreSure = settings.typedByRows === undefined;
  const limits = (signal: AbortSignal): StreamLimits => ({
    signal,
    timeoutSeconds: settings.timeoutSeconds,
    rowsMax: settings.rowsMax,
    explain: sandbox.explain,
  });
  const watch = watchFiles(files);
  const orChanged = async (error: unknown, read: readonly OpenFile[]): Promise<never> => {
    throw canComeFromChange(error) && (await watch.haveChanged(read)) ? changedError(read) : error;
  };
  const filesRead = new Set<OpenFile>();
  let lineNotes: readonly string[] = [];
  const { check, describe } = queryChecks(files, sandbox, { limits, idColumns: context.idColumns ?? [] });

  /** The rows of a query over one table, as if it took all of them; null for a join of several tables. */
  const rowsOf = async ({ inner, makesRows, read }: CheckedQuery, signal: AbortSignal) => {
    if (makesRows) return await plannedRows(sandbox.connection, inner, limits(signal));
    const isOneTable = new Set(read.map(({ table }) => table)).size === 1;
    return isOneTable ? await estimateRowsOfAll(sandbox.parser, read) : null;
  };

  return {
    async inspect(query, signal): Promise<Inspection> {
      const checked = await check(query, signal);
      const { inner, read, makesRows } = checked;
      return {
        columns: await describe(inner, signal).catch((error) => orChanged(error, read)),
        estimatedRows: await rowsOf(checked, signal),
        estimatedBytes: makesRows ? null : read.reduce((sum, file) => sum + file.sizeBytes, 0),
        estimatedCostUsd: 0,
      };
    },

    async read(query, { signal, columns, limit, writtenSinceMs }: ReadOptions): Promise<SourceRows> {
      const checked = await check(query, signal);
      if (writtenSinceMs !== undefined) await sandbox.leaveOutOlder(writtenSinceMs);
      const { inner, read } = checked;
      for (const file of read) filesRead.add(file);
      const before = await rejectCount(sandbox.connection, { typesAreSure });
      const expectedRows = limit === undefined ? await rowsOf(checked, signal) : null;
      const list = columns?.map(identifier).join(", ") ?? "*";
      const end = limit === undefined ? "" : ` LIMIT ${limit}`;
      const sql = `SELECT ${list} FROM (\n${inner}\n)${end}`;
      const stream = await streamRows(sandbox.connection, sql, limits(signal)).catch((error) => orChanged(error, read));
      let malformed = 0;
      const chunks = async function* () {
        // A reading with a limit ends before the end of the files, so it does not check them.
        const isRead = ({ writtenMs }: OpenFile) => writtenSinceMs === undefined || writtenMs >= writtenSinceMs;
        const toVerify = limit === undefined ? read.filter(isRead) : [];
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
            ? await countMalformed(sandbox.connection, read, { typesAreSure, limits: limits(signal) })
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

type CheckedQuery = {
  /** The query as it stands inside another. */
  readonly inner: string;
  readonly makesRows: boolean;
  readonly read: readonly OpenFile[];
};

function queryChecks(
  files: readonly OpenFile[],
  sandbox: Sandbox,
  { limits, idColumns }: { limits: (signal: AbortSignal) => StreamLimits; idColumns: readonly string[] },
) {
  const tables = [...new Set(files.map((file) => file.table))];
  const readIds = idTextReader(sandbox, idColumns);
  const describe = async (inner: string, signal: AbortSignal) => {
    const stream = await streamRows(sandbox.connection, `SELECT * FROM (\n${inner}\n) LIMIT 0`, limits(signal));
    for await (const _ of stream.chunks); // reads to the end, which frees the connection
    return columnsOf(stream.result);
  };
  /** Checks a query, whose ids are then read as they are written. */
  const check = async (query: string, signal: AbortSignal): Promise<CheckedQuery> => {
    const inner = innerQuery(query);
    const select = await checkSelect(sandbox.parser, inner, tables).catch((error) => {
      throw sandbox.explain(error);
    });
    const describeIfValid = () => describe(inner, signal).catch(undefinedIfInvalid);
    await readIds({ inner, select, describe: describeIfValid });
    signal.throwIfAborted();
    return { inner, makesRows: select.makesRows, read: files.filter((file) => select.tables.includes(file.table)) };
  };
  return { check, describe };
}

function undefinedIfInvalid(error: unknown): undefined {
  if (!(error instanceof StageError) || error.code !== "source_query_failed") throw error;
}
