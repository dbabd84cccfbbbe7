import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelSpec } from "../../shared/model-spec.ts";
import { interactionsThatFit } from "../../trainer/read/dataset/memory-budget.ts";
import { readWithinBudget } from "../../trainer/read/pushdown/read-within-budget.ts";
import { BIGQUERY } from "../../trainer/read/rules/bigquery-dialect.ts";
import { bigqueryWorld } from "../fixtures/bigquery-world.ts";
import type { FakeJob } from "../fixtures/fake-bigquery.ts";
import { type Bench, compared, type Figure } from "./bench.ts";
import { PRICES } from "./prices.ts";
import { type MeasuredPace, type SentQuery, VALUE_BYTES, warehouseUse } from "./warehouse-cost.ts";

const ROWS = [1e8, 1e9, 1e10];
/** Rows of the table on which the queries are counted. */
const SENT_ROWS = 18_000;
const MEMORY_MB = 4096;
const SALT = new Uint8Array(16).fill(7);
/** CPU time per row, measured with 3 million rows in Postgres, which reads row by row: BigQuery's slots should need less. */
const PACE: MeasuredPace = {
  store: { reasons: 0.38, totals: 1.27, interactions: 2.04, "the catalog": 0.43, records: 3.11 },
  slice: 1.07,
  read: 4.4,
  sort: 1.7,
};
/** Ids of interactions: integers, or texts of 16 letters. */
const IDS = { integer_ids: VALUE_BYTES.INTEGER, text_ids: VALUE_BYTES.STRING + 16 };

/**
 * What a run by pushdown would take of BigQuery, by calculation: the queries are those that a run sends to the stand-in, with the rows and
 * bytes of their results; the pace of the store and of the trainer is that of the bench `pushdown`. The reference of the dollars is one
 * scan of the table.
 */
export const warehouse: Bench = async ({ say }) => {
  const sent = await sentQueries();
  for (const { kind, resultRows, resultBytes } of sent)
    say(`  ${kind}: ${resultRows.toFixed(4)} rows and ${resultBytes.toFixed(1)} bytes of result per row of the table`);
  const { warehouse: prices } = PRICES;
  const sampleRowsMax = interactionsThatFit(MEMORY_MB, { label: { type: "Binary" } });
  return Object.entries(IDS).flatMap(([ids, idBytes]) =>
    ROWS.flatMap((rows): Figure[] => {
      const rowBytes = 2 * idBytes + VALUE_BYTES.TIMESTAMP + VALUE_BYTES.BOOLEAN;
      const table = { rows, rowBytes, sampleRowsMax, recordRowsMax: BIGQUERY.recordRowsMax! };
      const use = warehouseUse(table, sent, { pace: PACE, prices });
      const name = `warehouse.${rows.toExponential(0)}.${ids}`;
      const scan = ((rows * rowBytes) / 2 ** 40) * prices.perTebibyteRead;
      return [
        { name: `${name}.queries`, value: use.queries, unit: "queries" },
        { name: `${name}.billed`, value: use.bytesBilled / 2 ** 40, unit: "TiB" },
        compared(`${name}.on_demand`, "$", use.onDemandDollars, scan),
        { name: `${name}.slots`, value: use.slotSeconds / 60, unit: "slot minutes" },
        { name: `${name}.in_slots`, value: use.slotDollars, unit: "$" },
        { name: `${name}.largest_result`, value: use.resultBytesMax / 1e9, unit: "GB" },
        { name: `${name}.trainer`, value: use.trainerSeconds / 60, unit: "minutes" },
      ];
    }),
  );
};

/** The queries of a run on a small table of the stand-in that does not fit into its memory. Counting the rows of a table is free. */
async function sentQueries(): Promise<SentQuery[]> {
  const world = await bigqueryWorld();
  const workDirectory = await mkdtemp(join(tmpdir(), "bench-warehouse-"));
  try {
    await world.fake.engine.execute(
      `CREATE TABLE shop.interactions AS SELECT hash(i) % ${SENT_ROWS / 100} AS user_id, hash(-i) % 500 AS item_id,
         to_timestamp(1700000000 + i) AS created_at, i % 10 > 0 AS label FROM range(${SENT_ROWS}) AS t(i)`,
    );
    const spec = ModelSpec.parse({
      model_name: "bench",
      connector_configs: [{ type: "BigQuery", project_id: "acme-data", location: "EU" }],
      schema: {
        user: { id: "user_id" },
        item: { id: "item_id" },
        interaction: {
          created_at: "created_at",
          label: { type: "Binary", name: "label" },
          source: { query: "SELECT * FROM `acme-data.shop.interactions`" },
        },
      },
    });
    const { summary } = await readWithinBudget(spec, {
      context: { customer: "acme", settings: world.settings({ timeoutSeconds: 600 }) },
      workDirectory,
      rejectedFractionMax: 0,
      memoryMbMax: 0.4,
      signal: new AbortController().signal,
      nowMs: Date.now(),
      progress: () => undefined,
      salt: SALT,
    });
    return (summary.sources ?? []).map((origin) => {
      const [, kind, id] = /^(.+): BigQuery job .*\.([^.]+)$/.exec(origin)!;
      return sentOf(kind!, world.fake.jobs.get(id!)!);
    });
  } finally {
    await world.stop();
    await rm(workDirectory, { recursive: true, force: true });
  }
}

function sentOf(kind: string, { result }: FakeJob): SentQuery {
  const { fields, rows } = result!;
  const bytesOf = (value: unknown, type: string) => {
    if (value === null) return 0;
    const size = VALUE_BYTES[type as keyof typeof VALUE_BYTES];
    return type === "STRING" ? size + Buffer.byteLength(String(value)) : size;
  };
  const bytes = rows.reduce(
    (sum, row) => sum + row.reduce((own: number, value, i) => own + bytesOf(value, fields[i]!.type), 0),
    0,
  );
  return { kind, resultRows: rows.length / SENT_ROWS, resultBytes: bytes / SENT_ROWS };
}
