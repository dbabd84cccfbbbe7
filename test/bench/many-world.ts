import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { bytesIn } from "../../trainer/manage/processes/disk-space.ts";
import { residentMb } from "../../trainer/manage/processes/supervised-process.ts";
import { startLocalR2 } from "../fixtures/local-r2.ts";
import { type Call, caller, environmentOf } from "../fixtures/trainer-client.ts";
import { specOf } from "../fixtures/trainer-spec.ts";

export type RunEnd = {
  readonly customer: string;
  readonly model_name: string;
  readonly outcome: string;
  readonly seconds: number;
  readonly atMs: number;
};

export type ManyWorld = Awaited<ReturnType<typeof startMany>>;

const PROGRAM = new URL("../../trainer/main.ts", import.meta.url).pathname;
/** Rows of one customer: two groups of users, each of which prefers one half of the items. */
const [USERS, ITEMS, PER_USER] = [60, 20, 8];

/** A whole trainer in a process of its own, with a bucket on disk and a folder of data for each customer. */
export async function startMany(customers: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "bench-many-"));
  const state = join(folder, "state");
  for (const [i, customer] of customers.entries()) await writeRows(join(folder, "data", customer), i);
  const bucket = await startLocalR2(join(folder, "bucket"));
  const roots = Object.fromEntries(customers.map((customer) => [customer, [join(folder, "data", customer)]]));
  const environment = {
    ...environmentOf(state),
    SHORTLIST_S3_ENDPOINT: bucket.s3.endpoint,
    SHORTLIST_S3_BUCKET: bucket.s3.bucket,
    SHORTLIST_S3_ACCESS_KEY_ID: bucket.s3.accessKeyId,
    SHORTLIST_S3_SECRET_ACCESS_KEY: bucket.s3.secretAccessKey,
    SHORTLIST_FILE_ROOTS: JSON.stringify(roots),
    SHORTLIST_CUSTOMER_CALLS: "600",
    SHORTLIST_RETRY_SECONDS: "60",
    SHORTLIST_FIT_SECONDS: "5",
    SHORTLIST_RUN_DISK_BYTES: "300000000",
    SHORTLIST_CONNECT_SECONDS: "10",
    SHORTLIST_SILENCE_SECONDS: "30",
    SHORTLIST_ALLOW_PRIVATE_ADDRESSES: "true",
    SHORTLIST_IGNORE_GATE: "true",
  } as NodeJS.ProcessEnv;
  const ended: RunEnd[] = [];
  let trainer: ChildProcess | undefined;
  let call: ReturnType<typeof caller> | undefined;

  const start = async () => {
    trainer = spawn(process.execPath, ["--liftoff-only", PROGRAM], {
      stdio: ["ignore", "pipe", "inherit"],
      env: environment,
    });
    const started = Promise.withResolvers<number>();
    trainer.once("exit", () => started.reject(new Error("The trainer has ended.")));
    createInterface({ input: trainer.stdout! }).on("line", (line) => {
      const entry = JSON.parse(line) as { readonly event: string; readonly port: number };
      if (entry.event === "started") started.resolve(entry.port);
      if (entry.event === "run_ended") ended.push({ ...(entry as unknown as RunEnd), atMs: performance.now() });
    });
    call = caller(await started.promise);
  };
  const kill = async (signal: NodeJS.Signals) => {
    const exit = once(trainer!, "exit");
    trainer!.kill(signal);
    await exit;
  };
  await start();
  return {
    /** The ends of runs, in the order of the log. */
    ended,
    call: (method: string, path: string, options: Call) => call!(method, path, options),
    create: (
      customer: string,
      name: string,
      more: Parameters<typeof specOf>[2] = {},
      query = "SELECT * FROM interactions",
    ) => {
      const source = { connector_configs: [{ type: "File", location: `${join(folder, "data", customer)}/*.csv` }] };
      return call!("POST", "/v0/models", { customer, body: specOf(name, query, { ...source, ...more }) });
    },
    memoryMb: async () => (await residentMb(trainer!.pid!)) ?? 0,
    /** Bytes of the state folder: database, kept rows and folders of runs. */
    diskMb: async () => (await bytesIn([state])) / 1e6,
    async restart() {
      await kill("SIGKILL");
      await start();
    },
    async stop() {
      await kill("SIGTERM");
      await bucket.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function writeRows(folder: string, seed: number): Promise<void> {
  const random = seededRandom(seed + 1);
  const rows = ["user_id,item_id,created_at,label"];
  for (let user = 0; user < USERS; user++)
    for (let i = 0; i < PER_USER; i++) {
      const half = random() < 0.9 ? user % 2 : 1 - (user % 2);
      const item = half * (ITEMS / 2) + Math.floor((random() * ITEMS) / 2);
      const time = new Date(Date.UTC(2026, 0, 1) + (i * USERS + user) * 3_600_000).toISOString();
      rows.push(`u${user},i${item},${time},1`);
    }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "interactions.csv"), `${rows.join("\n")}\n`);
}

/** A Postgres server that greets its callers and then never answers. */
export async function startSilentPostgres() {
  const welcome = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73]); // authentication ok, ready
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(welcome));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has a port.");
  return { location: `postgres://reader@127.0.0.1:${address.port}/shop`, stop: () => server.close() };
}
