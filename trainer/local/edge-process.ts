/**
 * The edge in `wrangler dev`, as a process that `npm start` can start and end. Told what to do by its environment
 * (LOCAL_EDGE, JSON); says `{"url"}` over IPC when it is ready. Ends when asked to, and when its parent is gone.
 */
import { unstable_startWorker as startWorker } from "wrangler";
import { z } from "zod";

const EdgeOptions = z.strictObject({
  /** wrangler.toml: what is deployed is what runs here, but for the bindings below. */
  config: z.string(),
  port: z.int(),
  /** Where the local bucket is kept. */
  persist: z.string(),
  bucket: z.string(),
  s3AccessKeyId: z.string(),
  s3SecretAccessKey: z.string(),
  /** Plain variables of the Worker. */
  vars: z.record(z.string(), z.string()),
  secrets: z.record(z.string(), z.string()),
});
export type EdgeOptions = z.infer<typeof EdgeOptions>;

/** Does nothing when this file is imported for its types. */
if (process.env.LOCAL_EDGE !== undefined) await main(EdgeOptions.parse(JSON.parse(process.env.LOCAL_EDGE)));

async function main(options: EdgeOptions): Promise<void> {
  const bindings = Object.fromEntries([
    ...Object.entries(options.vars).map(([name, value]) => [name, { type: "plain_text", value }]),
    ...Object.entries(options.secrets).map(([name, value]) => [name, { type: "secret_text", value }]),
  ]);
  const s3 = { accessKeyId: options.s3AccessKeyId, secretAccessKey: options.s3SecretAccessKey };
  const worker = await startWorker({
    config: options.config,
    bindings: {
      ...bindings,
      MODELS: { type: "r2_bucket", bucket_name: options.bucket, local_dev: { experimental_s3_credentials: s3 } },
    },
    dev: {
      server: { hostname: "127.0.0.1", port: options.port },
      inspector: false,
      persist: options.persist,
      logLevel: "warn", // a line for each call would have its address, and in it users' ids
      watch: false,
    },
  });
  const stop = async () => {
    await worker.dispose();
    process.exit();
  };
  process.once("SIGTERM", stop);
  process.once("disconnect", stop);
  await worker.ready;
  process.send?.({ url: (await worker.url).origin });
}
