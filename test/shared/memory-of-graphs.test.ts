import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { GraphMemory } from "../fixtures/graph-memory.ts";

/** The heap grows by a twentieth of its size, once for the graph and perhaps once more for the run. */
const GROWTH_STEPS = 2 / 20;

test("opening and running a graph grows the heap by no more than was estimated, whatever the form of its weights", async () => {
  const program = join(import.meta.dirname, "../fixtures/graph-memory.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", program]);
  const measured = JSON.parse(stdout) as GraphMemory[];
  expect(measured.length).toBe(9);
  const above = measured.filter(({ grown, estimated, heap }) => grown > estimated + GROWTH_STEPS * heap);
  expect(above).toEqual([]);
});
