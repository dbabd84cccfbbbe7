import { waitUntil } from "cloudflare:workers";
import { memoryCostOf } from "../shared/memory-cost.ts";
import { createApp } from "./app.ts";
import { objectCache } from "./reading/cached-objects.ts";
import { loadVersion, readManifest } from "./versions/load-version.ts";
import { heapBytes, warmUp } from "./versions/scorer.ts";

export { EventShard } from "./events/event-shard.ts";
export { LiveCatalog } from "./items/item-changes.ts";

await warmUp();

const loader = { readManifest, memoryCostOf, loadVersion, heapBytes };
export default createApp(
  loader,
  objectCache(() => caches.default, waitUntil),
);
