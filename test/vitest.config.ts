import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { testsInOwnProcess } from "./own-process.ts";

const pathOf = (place: string) => fileURLToPath(new URL(place, import.meta.url).href);

// Compile cache, since hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= pathOf("../node_modules/.cache/compiled");
// Miniflare would write each of these certificates into its configuration, which takes a second for every edge that starts.
delete process.env.NODE_EXTRA_CA_CERTS;

const OWN_PROCESS = [...testsInOwnProcess(pathOf("..")), "test/trainer/learn/neural/training.test.ts"];
const ALL = "test/**/*.test.ts";

/** Every test runs in Node; those of the edge start a real workerd through Miniflare and talk HTTP to it. */
export default defineConfig({
  resolve: { alias: { "cloudflare:workers": pathOf("fixtures/cloudflare-workers.ts") } },
  test: {
    root: pathOf(".."),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    execArgv: ["--liftoff-only"], // as the trainer runs, for its embedded database
    maxWorkers: 3, // a third of the test time is waiting
    projects: [
      { extends: true, test: { name: "services", include: OWN_PROCESS } },
      // A process per file would take a quarter of the total time.
      { extends: true, test: { name: "functions", include: [ALL], exclude: OWN_PROCESS, isolate: false } },
    ],
  },
});
