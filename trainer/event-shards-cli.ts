/** `npm run event-shards`: shows or changes how many shards hold a customer's events (edge/README.md, "Live events"). */
import { SHARDS_MAX } from "../shared/events/event-store.ts";
import { CustomerId } from "../shared/key-record.ts";
import { reachThisMachine } from "./no-proxy.ts";
import { readKeySettings, SettingsError } from "./settings.ts";
import { changeEventShards } from "./store/event-shards.ts";
import { StoreError } from "./store/object-store.ts";
import { s3Store } from "./store/s3-store.ts";

const USAGE = `Usage: npm run event-shards -- CUSTOMER [COUNT]
  COUNT  1 to ${SHARDS_MAX}: new events go to so many shards from now on. Without it, only shards are dropped that nobody needs.`;

async function main([customer = "", count, ...rest]: readonly string[]): Promise<string> {
  reachThisMachine(process.env);
  const shards = count === undefined ? undefined : Number(count);
  const isCount = shards === undefined || (Number.isInteger(shards) && shards >= 1 && shards <= SHARDS_MAX);
  if (!CustomerId.safeParse(customer).success || !isCount || rest.length > 0) return USAGE;
  const store = s3Store(readKeySettings().store);
  const { generations } = await changeEventShards(store, { customer, shards, nowMs: Date.now() });
  return generations
    .map(({ id, shards, since }) => `${id}-0 to ${id}-${shards - 1} since ${since ?? "the beginning"}`)
    .join("\n");
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof StoreError;
  process.stderr.write(`${isExpected ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}
