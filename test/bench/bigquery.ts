import { BigQuery } from "@google-cloud/bigquery";
import {
  Field,
  Float64,
  Int64,
  RecordBatchStreamWriter,
  Schema,
  Table,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { type BigQueryField, columnOf } from "../../trainer/read/connectors/bigquery/columns.ts";
import { restRows } from "../../trainer/read/connectors/bigquery/rest-rows.ts";
import { storageRows } from "../../trainer/read/connectors/bigquery/storage-rows.ts";
import { type Bench, compared, quantile, timesMs } from "./bench.ts";

const ROWS = 100_000;
const BATCH_ROWS = 10_000;
const ROUNDS = 7;
const FIELDS = [
  { name: "user_id", type: "STRING", mode: "NULLABLE" },
  { name: "item_id", type: "INTEGER", mode: "NULLABLE" },
  { name: "created_at", type: "TIMESTAMP", mode: "NULLABLE" },
  { name: "label", type: "INTEGER", mode: "NULLABLE" },
  { name: "price", type: "FLOAT", mode: "NULLABLE" },
] as const satisfies readonly BigQueryField[];

/**
 * Time to convert 100,000 result rows from BigQuery's wire format to DuckDB chunks: REST rows and Arrow batches. The
 * reference is BigQuery's own client parsing the same REST rows.
 */
export const bigquery: Bench = async ({ say }) => {
  const columns = FIELDS.map(columnOf);
  const never = new AbortController().signal;
  const page = [restPage(), null, {}];
  const job = { getQueryResults: async () => page };
  const rest = () => drained(restRows({ party: {}, silenceSeconds: 60 } as never, { job } as never, columns, never));
  const arrow = arrowSession();
  const storage = () =>
    drained(storageRows(arrow as never, columns, { party: {}, silenceSeconds: 60 } as never, never));
  const client = async () => {
    const options = { wrapIntegers: false, selectedFields: [], parseJSON: false };
    const rows = BigQuery.mergeSchemaWithRows_({ fields: [...FIELDS] }, restPage(), options as never) as unknown[];
    if (rows.length !== ROWS) throw new Error(`The client gave ${rows.length} rows.`);
  };
  const median = async (what: string, work: () => Promise<unknown>) => {
    say(`  ${what}`);
    await work();
    return quantile(await timesMs(ROUNDS, work), 0.5);
  };
  const making = await median("making the rows", async () => restPage());
  const reference = (await median("the client's own conversion", client)) - making;
  return [
    compared("bigquery.decode.ms", "ms", await median("REST", rest), reference),
    compared("bigquery.decode_arrow.ms", "ms", await median("Arrow", storage), reference),
  ];
};

async function drained(chunks: AsyncIterable<{ readonly rowCount: number }>): Promise<void> {
  let rows = 0;
  for await (const chunk of chunks) rows += chunk.rowCount;
  if (rows !== ROWS) throw new Error(`There were ${rows} rows.`);
}

const valuesOf = (i: number) =>
  [`user-${i % 5000}`, i % 1000, 1_700_000_000_000_000 + i * 1000, i % 2, (i % 997) / 7] as const;

/** The client modifies the rows it parses, so each round gets a copy. */
const restPage = () => Array.from({ length: ROWS }, (_, i) => ({ f: valuesOf(i).map((v) => ({ v: String(v) })) }));

function arrowSession() {
  const types = [new Utf8(), new Int64(), new TimestampMicrosecond("UTC"), new Int64(), new Float64()];
  const schema = new Schema(FIELDS.map(({ name }, i) => new Field(name, types[i]!, true)));
  const batch = (from: number) => {
    const rows = Array.from({ length: BATCH_ROWS }, (_, i) => valuesOf(from + i));
    const arrowValues = [
      rows.map(([user]) => user),
      rows.map(([, item]) => BigInt(item)),
      rows.map(([, , micros]) => micros / 1000),
      rows.map(([, , , label]) => BigInt(label)),
      rows.map(([, , , , price]) => price),
    ];
    const vectors = FIELDS.map(({ name }, i) => [name, vectorFromArray(arrowValues[i] as never[], types[i] as never)]);
    return RecordBatchStreamWriter.writeAll(new Table(Object.fromEntries(vectors))).toUint8Array(true);
  };
  const head = RecordBatchStreamWriter.writeAll(new Table(schema)).toUint8Array(true);
  const schemaBytes = head.subarray(0, head.length - END_OF_STREAM_BYTES);
  const batches = Array.from({ length: ROWS / BATCH_ROWS }, (_, i) => ({
    arrowRecordBatch: {
      serializedRecordBatch: batch(i * BATCH_ROWS).subarray(schemaBytes.length, -END_OF_STREAM_BYTES),
    },
    rowCount: BATCH_ROWS,
  }));
  const responses = () => ({
    cancel: () => undefined,
    destroy: () => undefined,
    async *[Symbol.asyncIterator]() {
      yield* batches;
    },
  });
  const client = { readRows: responses, close: async () => undefined };
  return { client, arrowSchema: schemaBytes, streams: ["one"], headers: {} };
}

const END_OF_STREAM_BYTES = 8;
