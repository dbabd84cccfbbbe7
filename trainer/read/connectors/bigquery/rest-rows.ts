import type { DuckDBDataChunk } from "@duckdb/node-api";
import { rowChunks } from "../row-chunks.ts";
import type { BigQueryColumn } from "./columns.ts";
import { type BigQueryAccess, type FinishedJob, withRetries } from "./job.ts";

type RawRow = { readonly f: readonly { readonly v: unknown }[] };
type Page = readonly [readonly RawRow[], unknown, { readonly pageToken?: string }];

const PAGE_ROWS = 50_000; // the service also ends a page at 20 MB

/**
 * A job's rows over REST, page by page; the next page is requested while one is converted. A page that breaks off is requested
 * again by its token, so no row is lost or repeated. Rows are decoded here because the client's own parser takes 70 times as long.
 */
export async function* restRows(
  access: BigQueryAccess,
  { job }: FinishedJob,
  columns: readonly BigQueryColumn[],
  signal: AbortSignal,
): AsyncGenerator<DuckDBDataChunk> {
  const types = columns.map(({ type }) => type);
  const pageAt = (pageToken: string | undefined) => {
    const options = { maxResults: PAGE_ROWS, autoPaginate: false, skipParsing: true, ...(pageToken && { pageToken }) };
    const page = withRetries(access, signal, async () => (await job.getQueryResults(options)) as unknown as Page);
    page.catch(() => undefined); // thrown when it is awaited; a reader that stops early never awaits it
    return page;
  };
  let next: Promise<Page> | undefined = pageAt(undefined);
  while (next) {
    const [rows, , response]: Page = await next;
    next = response.pageToken ? pageAt(response.pageToken) : undefined;
    yield* rowChunks(types, rows.length, (column, row) => columns[column]!.read(rows[row]!.f[column]!.v));
  }
}
