import { type DuckDBResult, type Json, JsonDuckDBValueConverter } from "@duckdb/node-api";
import type { z } from "zod";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { StageError } from "../../../stage/stage-error.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions } from "../connector.ts";
import { verifyCompressed } from "../duckdb/compressed.ts";
import { findFiles, type SourceFile } from "../duckdb/files.ts";
import { countMalformed, rejectCount } from "../duckdb/malformed-lines.ts";
import { identifier } from "../duckdb/quote.ts";
import { estimateRows } from "../duckdb/row-estimate.ts";
import { openSandbox, type Sandbox } from "../duckdb/sandbox.ts";
import { checkSelect } from "../duckdb/select.ts";
import { type StreamLimits, streamRows } from "../duckdb/stream.ts";
import { innerQuery } from "../inner-query.ts";
import type { SourceColumn, SourceRows } from "../source-rows.ts";
import { FileConfig } from "./config.ts";
import { changedError, type FileLooks, lookAtFiles, mayBeOfChange, watchFiles } from "./file-watch.ts";

/**
 * Tables from files: `shop/*.csv` makes each file below the customer's folders a table named by its stem. CSV, TSV,
 * Parquet, JSON and JSON Lines; the text formats also gzipped or zstd-compressed. Queries are DuckDB's SELECT.
 */
export async function connectFile(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  const parsed = FileConfig.safeParse(config);
  if (!parsed.success)
    throw new StageError(
      "fetching",
      "bad_connector_config",
      `The File connector's configuration is wrong: ${reasons(parsed.error)}`,
    );
  const files = await findFiles(parsed.data.location, context.settings.fileRoots);
  // Before their columns and types are found: those of one text would misread another. Parquet tells its own.
  const looks = await lookAtFiles(files.filter(({ format }) => format !== "parquet"));
  const sandbox = await openSandbox(files, context.settings);
  return fileConnector({ files, looks }, sandbox, context);
}

type Found = { readonly files: readonly SourceFile[]; readonly looks: FileLooks };

function fileConnector({ files, looks }: Found, sandbox: Sandbox, { settings }: ConnectorContext): Connector {
  const tables = files.map((file) => file.table);
  let abandoned = false;
  const typesAreSure = settings.typedByRows === undefined;
  const limits = (signal: AbortSignal): StreamLimits => ({
    signal,
    timeoutSeconds: settings.timeoutSeconds,
    rowsMax: settings.rowsMax,
    explain: sandbox.explain,
    onAbandoned: () => {
      abandoned = true;
    },
  });
  /** The files that a query reads, and the query as it stands inside another. */
  const check = async (query: string) => {
    const inner = innerQuery(query);
    const read = await checkSelect(sandbox.parser, inner, tables).catch((error) => {
      throw sandbox.explain(error);
    });
    return { inner, read: files.filter((file) => read.tables.includes(file.table)) };
  };

  return {
    async inspect(query, { sampleRows, signal }): Promise<Inspection> {
      const { inner, read } = await check(query);
      const sql = `SELECT * FROM (\n${inner}\n) LIMIT ${sampleRows}`;
      const stream = await streamRows(sandbox.connection, sql, limits(signal));
      const columns = columnsOf(stream.result);
      const sample: Record<string, Json>[] = [];
      for await (const chunk of stream.chunks)
        for (const row of chunk.convertRows(JsonDuckDBValueConverter))
          sample.push(Object.fromEntries(columns.map(({ name }, i) => [name, row[i] ?? null])));
      const estimatedBytes = read.reduce((sum, file) => sum + file.sizeBytes, 0);
      const estimatedRows = await rowsOf(read, sandbox);
      return { columns, sample, estimatedRows, estimatedBytes, estimatedCostUsd: 0 };
    },

    async read(query, { signal, columns, limit }: ReadOptions): Promise<SourceRows> {
      const { inner, read } = await check(query);
      const before = await rejectCount(sandbox.connection, { typesAreSure });
      const expectedRows = limit === undefined ? await rowsOf(read, sandbox) : null;
      const list = columns?.map(identifier).join(", ") ?? "*";
      const end = limit === undefined ? "" : ` LIMIT ${limit}`;
      const stream = await streamRows(sandbox.connection, `SELECT ${list} FROM (\n${inner}\n)${end}`, limits(signal));
      let malformed = 0;
      const chunks = async function* () {
        // DuckDB takes a cut-off file for a shorter one, so that it is whole is checked beside the reading.
        const toVerify = limit === undefined ? read : [];
        const watch = watchFiles(toVerify, new Map([...(await lookAtFiles(toVerify)), ...looks]));
        const whole = Promise.all(toVerify.map((file) => verifyCompressed(file, signal)));
        whole.catch(() => undefined); // told below, or not at all when the reader has left
        let rows = 0;
        try {
          for await (const chunk of stream.chunks) {
            rows += chunk.rowCount;
            yield chunk;
          }
          await whole;
          if (await watch.hasChanged()) throw changedError(read);
        } catch (error) {
          throw mayBeOfChange(error) && (await watch.hasChanged()) ? changedError(read) : error;
        } finally {
          watch.end();
        }
        malformed =
          rows === limit
            ? await countMalformed(sandbox.connection, read, { typesAreSure, limits: limits(signal) })
            : (await rejectCount(sandbox.connection, { typesAreSure })) - before;
      };
      return {
        columns: columnsOf(stream.result),
        chunks: chunks(),
        expectedRows,
        unreadable: () => (malformed > 0 ? { malformed_line: malformed } : {}),
      };
    },

    close: () => sandbox.close(abandoned),
  };
}

/** Of a query over one file, as if it took every row; what a join gives, nobody knows beforehand. */
const rowsOf = async (read: readonly SourceFile[], { parser }: Sandbox) =>
  read.length === 1 ? await estimateRows(parser, read[0]!) : null;

/** In the order of the result. */
const columnsOf = (result: DuckDBResult): SourceColumn[] =>
  result.deduplicatedColumnNames().map((name, i) => ({ name, type: result.columnType(i) }));

const reasons = (error: z.ZodError) =>
  error.issues.map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`).join("; ");
