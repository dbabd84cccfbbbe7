import { expect, test } from "vitest";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import { findPostgres, postgresConfig, postgresContext, startPostgres } from "../../../../fixtures/postgres-server.ts";

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");

test.skipIf(!bin)("memory does not grow with the rows: 200,000 narrow ones, or 300 of a megabyte each", async () => {
  const server = await startPostgres(bin!);
  const connector = await connect(postgresConfig(server, "postgres"), postgresContext(server));
  const residentMb = () => process.memoryUsage().rss / 2 ** 20;
  const peakOf = async (query: string) => {
    let [rows, early, late] = [0, 0, 0];
    const source = await connector.read(query, { signal: new AbortController().signal });
    for await (const chunk of source.chunks) {
      rows += chunk.rowCount;
      if (rows <= source.expectedRows! / 2) early = Math.max(early, residentMb());
      else late = Math.max(late, residentMb());
    }
    return { rows, growthMb: late - early };
  };
  const narrow = await peakOf("SELECT i AS user_id, now() AS at FROM generate_series(1, 200000) AS i");
  expect(narrow.rows).toBe(200_000);
  expect(narrow.growthMb).toBeLessThan(100);
  const wide = await peakOf("SELECT repeat('x', 1000000) AS text FROM generate_series(1, 300)");
  expect(wide.rows).toBe(300);
  expect(wide.growthMb).toBeLessThan(100);
  await connector.close();
  await server.stop();
});
