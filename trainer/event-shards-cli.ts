/** The program of `npm run event-shards`: shows or changes how many shards hold a customer's events (edge/README.md, "Live events"). */
import { SHARDS_MAX } from "../shared/events/event-store.ts";
import { CustomerId } from "../shared/key-record.ts";
import { type CommandLine, runCommand } from "./command-line.ts";
import { UsageError } from "./expected-error.ts";
import { readKeySettings } from "./settings.ts";
import { changeEventShards } from "./store/event-shards.ts";
import { s3Store } from "./store/s3-store.ts";

const EVENT_SHARDS = {
  name: "event-shards",
  does: "shows or changes how many shards hold a customer's events",
  forms: [
    ["CUSTOMER", "drops shards that nobody needs any more, and shows the others"],
    ["CUSTOMER COUNT", `new events go to so many shards from now on: 1 to ${SHARDS_MAX}`],
  ],
  flags: { json: { type: "boolean", default: false, help: "the generations of shards as JSON" } },
  takesWords: true,
} as const satisfies CommandLine;

await runCommand(EVENT_SHARDS, async ({ words: [customer = "", count, ...rest] }) => {
  const shards = count === undefined ? undefined : Number(count);
  const isCount = shards === undefined || (Number.isInteger(shards) && shards >= 1 && shards <= SHARDS_MAX);
  if (!CustomerId.safeParse(customer).success || !isCount || rest.length > 0)
    throw new UsageError(`Give a customer and, at most, a number of shards from 1 to ${SHARDS_MAX}. See --help.`);
  const store = s3Store(readKeySettings().store);
  const { generations } = await changeEventShards(store, { customer, shards, nowMs: Date.now() });
  const lines = generations.map(
    ({ id, shards, since }) => `${id}-0 to ${id}-${shards - 1} since ${since ?? "the beginning"}`,
  );
  return { text: lines.join("\n"), json: generations };
});
