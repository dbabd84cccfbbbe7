import { memoryCostOf } from "../shared/memory-cost.ts";
import { createApp } from "./app.ts";
import { loadVersion, readManifest } from "./versions/load-version.ts";
import { heapBytes, warmUp } from "./versions/scorer.ts";

await warmUp();

export default createApp({ readManifest, memoryCostOf, loadVersion, heapBytes });
