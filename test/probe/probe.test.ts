import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { linesOf } from "./probe-run.ts";

test("the probe reports on the local workerd", async () => {
  const program = new URL("probe.ts", import.meta.url).pathname;
  const args = [program, "--local", "--items", "2000"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 });
  expect(stdout).toMatch(/Clocks: run on/);
  expect(stdout).toContain("Cache: 20 hits of 20.");
  expect(stdout).toMatch(/Memory: 2000 items take \d\d MB of WASM and 0 MB of JavaScript/);
});

test("what fails is said", () => {
  const report = { isFrozen: true, cacheHits: 0, cacheCalls: 20, memory: { fault: "/memory answered 503" } };
  expect(linesOf(report, 1e6).join(" ")).toMatch(/stand still.*0 hits of 20.*1000000 items cannot be opened: .*503/);
});
