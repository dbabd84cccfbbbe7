import { DuckDBDataChunk } from "@duckdb/node-api";
import type { BigQueryColumn } from "./columns.ts";
import { type BigQueryAccess, type FinishedJob, patiently } from "./job.ts";

type RawRow = { readonly f: readonly { readonly v: unknown }[] };
type Page = readonly [readonly RawRow[], unknown, { readonly pageToken?: string }];

const PAGE_ROWS = 50_000; // the service cuts pages at 20 MB anyway
const CHUNK_ROWS = 2048;

/**
 * A job's rows over REST, page by page, the next one requested while one is taken over. A page that breaks off is
 * asked for again by its token, so no row is lost or doubled. Rows are decoded here: the client's own parsing takes
 * seventy times as long.
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
    const page = patiently(access, signal, async () => (await job.getQueryResults(options)) as unknown as Page);
    page.catch(() => undefined); // told when it is awaited, unless the reader has left
    return page;
  };
  let next: Promise<Page> | undefined = pageAt(undefined);
  while (next) {
    const [rows, , response]: Page = await next;
    next = response.pageToken ? pageAt(response.pageToken) : undefined;
    for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
      const part = rows.slice(from, from + CHUNK_ROWS);
      const chunk = DuckDBDataChunk.create(types, part.length);
      for (const [i, { read }] of columns.entries())
        chunk.setColumnValues(
          i,
          part.map(({ f }) => read(f[i]!.v)),
        );
      yield chunk;
    }
  }
}
