import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

const pathOf = (place: string) => fileURLToPath(new URL(place, import.meta.url).href);

// Compile cache, since hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= pathOf("../node_modules/.cache/compiled");
// Miniflare would write each of these certificates into its configuration, which takes a second for every edge that starts.
delete process.env.NODE_EXTRA_CA_CERTS;

const preloaded = (name: string) => ["--import", new URL(`fixtures/${name}.ts`, import.meta.url).href];
const ALL = "test/**/*.test.ts";
/** Tests that replace modules, which stay replaced for the other tests of their process, or that measure memory. */
const ALONE = ["test/trainer/run/train-model-cleanup.test.ts", "test/trainer/**/*-memory.test.ts"];

/** These take longest. Vitest knows no durations in a new clone, and would end with some of them on one core. */
class SystemTestsFirst extends BaseSequencer {
  override async sort(...given: Parameters<BaseSequencer["sort"]>) {
    const sorted = await super.sort(...given);
    const isSystemTest = ({ moduleId }: (typeof sorted)[number]) => moduleId.includes("/test/system/");
    return [...sorted.filter(isSystemTest), ...sorted.filter((file) => !isSystemTest(file))];
  }
}

/** Every test runs in Node; those of the edge start a real workerd through Miniflare and talk HTTP to it. */
export default defineConfig({
  test: {
    root: pathOf(".."),
    testTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } }, // by default a second, too short for a busy machine
    hookTimeout: 120_000,
    pool: "forks",
    // As the trainer runs, for its embedded database.
    execArgv: ["--liftoff-only", ...preloaded("cloudflare-workers"), ...preloaded("quick-miniflare")],
    maxWorkers: 3, // on two cores; with more, single steps take longer on a slow machine, and run into their waits
    sequence: { sequencer: SystemTestsFirst },
    projects: [
      { extends: true, test: { name: "alone", include: ALONE } },
      // Processes of their own for every file, or Vite's transformed modules, would take a quarter more time.
      {
        extends: true,
        test: {
          name: "all",
          include: [ALL],
          exclude: ALONE,
          isolate: false,
          // V8 would collect all garbage every few hundred milliseconds because of databases and typed arrays.
          execArgv: ["--external-memory-accounted-in-global-limit", "--initial-heap-size=500"],
          experimental: { viteModuleRunner: false },
        },
      },
    ],
  },
});
