import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const pathOf = (place: string) => fileURLToPath(new URL(place, import.meta.url).href);

// Compile cache, since hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= pathOf("../node_modules/.cache/compiled");
// Miniflare would write each of these certificates into its configuration, which takes a second for every edge that starts.
delete process.env.NODE_EXTRA_CA_CERTS;

const ALL = "test/**/*.test.ts";
/** Tests that replace modules, which stay replaced for the other tests of their process. */
const REPLACING = ["test/trainer/run/train-model-cleanup.test.ts"];

/** Every test runs in Node; those of the edge start a real workerd through Miniflare and talk HTTP to it. */
export default defineConfig({
  test: {
    root: pathOf(".."),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    execArgv: [
      "--liftoff-only", // as the trainer runs, for its embedded database
      // Databases and typed arrays would start a full garbage collection every few hundred milliseconds.
      ...["--external-memory-accounted-in-global-limit", "--initial-heap-size=500"],
      ...["--import", new URL("fixtures/cloudflare-workers.ts", import.meta.url).href],
    ],
    maxWorkers: 5, // of two cores: a third of the test time is waiting
    projects: [
      { extends: true, test: { name: "replacing", include: REPLACING } },
      // Processes of their own for every file, or Vite's transformed modules, would take a quarter more time.
      {
        extends: true,
        test: {
          name: "all",
          include: [ALL],
          exclude: REPLACING,
          isolate: false,
          experimental: { viteModuleRunner: false },
        },
      },
    ],
  },
});
