/** A trainer in a process of its own, whose runs have a limit on their memory, and the bucket that they publish to. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DuckDBInstance } from "@duckdb/node-api";
import type { ModelRecord } from "../../shared/model-record.ts";
import { literal } from "../../trainer/read/connectors/sql-text.ts";
import { s3Store } from "../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../fixtures/local-r2.ts";
import { type PostgresServer, postgresConfig } from "../fixtures/postgres-server.ts";
import { caller, environmentOf } from "../fixtures/trainer-client.ts";
import { specOf } from "../fixtures/trainer-spec.ts";

/** Where the run reads the rows of `interactions`. */
export type MemorySource = {
  readonly connector: { readonly type: string; readonly [setting: string]: unknown };
  /** Settings that the trainer needs to read it. */
  readonly environment: NodeJS.ProcessEnv;
};

/** `interactions.parquet` of a folder. */
export const parquetSource = (folder: string): MemorySource => ({
  connector: { type: "File", location: `${folder}/interactions.parquet` },
  environment: { SHORTLIST_FILE_ROOTS: JSON.stringify({ [CUSTOMER]: [folder] }) },
});

/** A new table of a Postgres server with the same rows. */
export async function postgresSource(folder: string, server: PostgresServer): Promise<MemorySource> {
  const rows = join(folder, "interactions.csv");
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT user_id, item_id, to_timestamp(created_at), label = 1
    FROM ${literal(join(folder, "interactions.parquet"))}) TO ${literal(rows)} (FORMAT csv, HEADER false)`);
  connection.closeSync();
  instance.closeSync();
  await server.execute(`DROP TABLE IF EXISTS interactions; CREATE UNLOGGED TABLE interactions
    (user_id bigint, item_id integer, created_at timestamptz, label boolean);
    COPY interactions FROM ${literal(rows)} (FORMAT csv); ANALYZE interactions`);
  await rm(rows);
  return {
    connector: postgresConfig(server, "postgres", { password: { env: PASSWORD } }),
    environment: { [PASSWORD]: server.password, SHORTLIST_ALLOW_PRIVATE_ADDRESSES: "true" },
  };
}

export type Limits = {
  readonly memoryMb: number;
  readonly fitSeconds: number;
  readonly say: (line: string) => void;
};

/** The end of a run's process. A run has several if it exceeded its memory. */
export type ProcessEnded = {
  readonly outcome: string;
  readonly code?: string;
  readonly seconds: number;
  readonly peak_mb: number;
};

const CUSTOMER = "bench";
const PASSWORD = "SHORTLIST_SECRET_BENCH__DB";
const MODEL = "memory";
const PROGRAM = new URL("../../trainer/main.ts", import.meta.url).pathname;
const POLL_MS = 2000;
const SAY_MS = 30_000;

/** Trains a model on the rows of the source and hands the state of its record after the run to `judge`. */
export async function trainWithin<Result>(
  { connector, environment }: MemorySource,
  { memoryMb, fitSeconds, say }: Limits,
  judge: (run: TrainedRun) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "bench-memory-"));
  await mkdir(join(folder, "state"));
  const bucket = await startLocalR2(join(folder, "bucket"));
  const ended: ProcessEnded[] = [];
  const without: string[] = [];
  const trainer = spawn(process.execPath, ["--liftoff-only", PROGRAM], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...environmentOf(join(folder, "state")),
      SHORTLIST_S3_ENDPOINT: bucket.s3.endpoint,
      SHORTLIST_S3_BUCKET: bucket.s3.bucket,
      SHORTLIST_S3_ACCESS_KEY_ID: bucket.s3.accessKeyId,
      SHORTLIST_S3_SECRET_ACCESS_KEY: bucket.s3.secretAccessKey,
      ...environment,
      SHORTLIST_RUN_MEMORY_MB: String(memoryMb),
      SHORTLIST_FIT_SECONDS: String(fitSeconds),
      SHORTLIST_RUN_ATTEMPTS: "1",
      SHORTLIST_IGNORE_GATE: "true",
    } as NodeJS.ProcessEnv,
  });
  try {
    const port = await new Promise<number>((resolve, reject) => {
      trainer.once("exit", () => reject(new Error("The trainer has ended.")));
      createInterface({ input: trainer.stdout! }).on("line", (line) => {
        const entry = JSON.parse(line) as { readonly event: string; readonly port: number; readonly without: string[] };
        if (entry.event === "started") resolve(entry.port);
        if (entry.event === "run_ended") ended.push(entry as unknown as ProcessEnded);
        if (entry.event === "run_repeated") without.splice(0, without.length, ...entry.without);
      });
    });
    const call = caller(port);
    const body = specOf(MODEL, "SELECT * FROM interactions", {
      connector_configs: [connector],
    });
    const created = await call("POST", "/v0/models", { customer: CUSTOMER, body });
    if (created.status >= 300) throw new Error(`The model was not created: ${JSON.stringify(created.body)}`);
    const record = await finished(say, async () => {
      const { body } = await call("GET", `/v0/models/${MODEL}`, { customer: CUSTOMER });
      return body as unknown as ModelRecord;
    });
    const model = { customer: CUSTOMER, modelName: MODEL };
    return await judge({ record, ended, without, store: s3Store(bucket.s3), model });
  } finally {
    const exit = once(trainer, "exit");
    trainer.kill("SIGTERM");
    await exit;
    await bucket.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export type TrainedRun = {
  readonly record: ModelRecord;
  readonly ended: readonly ProcessEnded[];
  /** Methods that the run left out, because an attempt with them exceeded its memory. */
  readonly without: readonly string[];
  readonly store: ReturnType<typeof s3Store>;
  readonly model: { readonly customer: string; readonly modelName: string };
};

async function finished(say: (line: string) => void, read: () => Promise<ModelRecord>): Promise<ModelRecord> {
  for (let saidMs = 0; ; ) {
    const record = await read();
    if (record.status === "ACTIVE" || record.status === "ERROR") return record;
    const { progress } = record.training;
    if (progress && performance.now() - saidMs > SAY_MS) {
      saidMs = performance.now();
      say(`    ${progress.stage}: ${progress.detail ?? ""} ${progress.rows ?? ""}`);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
