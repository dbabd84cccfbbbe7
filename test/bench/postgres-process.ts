/** The process that `postgres.ts` measures. Arguments: port, query. The password comes from the environment. */
import { connect } from "../../trainer/read/connectors/connect.ts";
import { fileSettings } from "../fixtures/real-data.ts";
import type { PostgresMeasured } from "./postgres.ts";

const [port, query] = process.argv.slice(2) as [string, string];
const settings = {
  ...fileSettings([], ""),
  timeoutSeconds: 600,
  rowsMax: 1e9,
  allowPrivateAddresses: true,
  secret: () => process.env.BENCH_PASSWORD,
};
const location = `postgres://owner@127.0.0.1:${port}/postgres`;
const config = { type: "Postgres", location, password: { env: "BENCH" }, sslmode: "disable" };
const connector = await connect(config, { customer: "bench", settings });
const residentMb = () => process.memoryUsage.rss() / 2 ** 20;

const begin = performance.now();
const source = await connector.read(query, { signal: new AbortController().signal });
let [rows, chunks, earlyMb, lateMb] = [0, 0, 0, 0];
for await (const chunk of source.chunks) {
  rows += chunk.rowCount;
  if (chunks++ % 16 !== 0) continue;
  if (rows <= source.expectedRows! / 5) earlyMb = Math.max(earlyMb, residentMb());
  else lateMb = Math.max(lateMb, residentMb());
}
const measured: PostgresMeasured = { rows, seconds: (performance.now() - begin) / 1000, earlyMb, lateMb };
await connector.close();
process.send!(measured);
process.disconnect();
