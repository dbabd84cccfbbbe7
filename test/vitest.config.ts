import { defineConfig } from "vitest/config";

/** Every test runs in Node; those of the edge start a real workerd through Miniflare and talk HTTP to it. */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    root: new URL("..", import.meta.url).pathname,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 3, // a third of the time of tests is waiting
  },
});
