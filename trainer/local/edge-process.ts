/**
 * The program that runs the edge in `wrangler dev` for `npm start`. Its arguments are the port and the folder of the local
 * bucket; TRAINER_URL and FORWARD_SECRET come from its environment. Pages of every origin may call; everything else is as in wrangler.toml.
 */
import { join } from "node:path";
import { unstable_DevEnv as DevEnv } from "wrangler";
import { onStop } from "../manage/processes/stop-signals.ts";

const [port, persist] = process.argv.slice(2);
const wrangler = new DevEnv();
// Without these listeners, wrangler would wait in silence, for example if the port is in use.
wrangler.on("error", (error: { message?: string; reason?: string }) => {
  console.error(`Error: ${error.message ?? error.reason}`);
  process.exit(1);
});
wrangler.on("buildFailed", () => process.exit(1)); // wrangler has logged the reason
const starting = wrangler.startWorker({
  config: join(import.meta.dirname, "../../wrangler.toml"),
  envFiles: [],
  bindings: {
    TRAINER_URL: { type: "plain_text", value: process.env.TRAINER_URL! },
    FORWARD_SECRET: { type: "secret_text", value: process.env.FORWARD_SECRET! },
    CORS_ORIGINS: { type: "plain_text", value: "*" }, // pages under development, which still need the key
  },
  dev: {
    server: { hostname: "127.0.0.1", port: Number(port) },
    inspector: false,
    persist: persist!,
    logLevel: "warn", // the line of each call would contain its address, and with it user ids
    watch: false,
  },
});
onStop(async () => {
  await (await starting).dispose();
  process.exit();
});
await (await starting).ready;
process.send?.("ready");
