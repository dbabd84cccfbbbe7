import type { Job } from "@google-cloud/bigquery";
import { expect, test } from "vitest";
import { columnOf } from "../../../../../trainer/read/connectors/bigquery/columns.ts";
import type { BigQueryAccess, FinishedJob } from "../../../../../trainer/read/connectors/bigquery/job.ts";
import { restRows } from "../../../../../trainer/read/connectors/bigquery/rest-rows.ts";

const access = {
  party: { projectId: "p", location: "EU", serviceAccount: "s" },
  silenceSeconds: 60,
} as BigQueryAccess;
const never = new AbortController().signal;

/** A job whose pages have these sizes; rows are numbered. */
function jobOf(pages: readonly number[]) {
  const asked: (string | undefined)[] = [];
  const getQueryResults = async ({ pageToken }: { pageToken?: string }) => {
    asked.push(pageToken);
    const page = Number(pageToken ?? 0);
    const first = pages.slice(0, page).reduce((a, b) => a + b, 0);
    const rows = Array.from({ length: pages[page]! }, (_, i) => ({ f: [{ v: String(first + i) }] }));
    return [rows, null, page + 1 < pages.length ? { pageToken: String(page + 1) } : {}];
  };
  return { asked, job: { job: { getQueryResults } as unknown as Job } as FinishedJob };
}

test.each([[[0]], [[1]], [[2048]], [[2049]], [[3, 0, 5000, 1]]])(
  "pages of %j rows: every row once, in order",
  async (pages) => {
    const { job, asked } = jobOf(pages);
    const seen: number[] = [];
    for await (const chunk of restRows(access, job, [columnOf({ name: "n", type: "INTEGER" })], never)) {
      expect(chunk.rowCount).toBeLessThanOrEqual(2048);
      seen.push(...chunk.getColumnValues(0).map(Number));
    }
    expect(seen).toEqual(Array.from({ length: pages.reduce((a, b) => a + b, 0) }, (_, i) => i));
    expect(asked.length).toBe(pages.length);
  },
);
