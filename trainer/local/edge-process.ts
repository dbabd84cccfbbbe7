/**
 * The program that runs the edge in `wrangler dev` for `npm start`. It reads its options from the variable LOCAL_EDGE
 * (JSON), sends `{"url"}` over IPC when it is ready, and exits on SIGTERM or when its parent process is gone.
 */
import { unstable_startWorker as startWorker } from "wrangler";
import { z } from "zod";

const EdgeOptions = z.strictObject({
  /** Path of wrangler.toml. Only the bindings below differ from a deployment. */
  config: z.string(),
  port: z.int(),
  /** Folder of the local bucket. */
  persist: z.string(),
  bucket: z.string(),
  s3AccessKeyId: z.string(),
  s3SecretAccessKey: z.string(),
  vars: z.record(z.string(), z.string()),
  secrets: z.record(z.string(), z.string()),
});
export type EdgeOptions = z.infer<typeof EdgeOptions>;

// Without the variable, this file is only imported for its types.
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
      logLevel: "warn", // the line of each call would contain its address, and with it user ids
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
