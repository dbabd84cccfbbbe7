/** From lists that are texts of a file to filters of the real Worker. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { trainOnFiles } from "../fixtures/train-on-files.ts";

const NOW = Date.parse("2024-03-01T00:00:00Z");
const model = { customer: "acme", modelName: "shop" };
/** Three ways to write the lists of items 0 to 5. */
const LISTS = {
  json: ['["caf\\u00e9, bar", "b"]', '["b"]', '["c"]', "[]", '["b", "c"]', '["café, bar"]'],
  python: ["['café, bar', 'b']", "['b', None]", "['c']", "[]", "['b', 'c']", '["café, bar"]'],
  commas: ["café, bar, b", "b", "c", "", "b, c", "café"],
};

let edge: EdgeWorld;
let folder: string;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  folder = await mkdtemp(join(tmpdir(), "edge-lists-"));
});
afterAll(async () => {
  await edge.stop();
  await rm(folder, { recursive: true, force: true });
});

test("values of lists in texts are found by filters", { timeout: 120_000 }, async () => {
  const rows = Array.from(
    { length: 90 },
    (_, n) => `u${n % 15},i${(n * 7 + Math.floor(n / 15)) % 6},${1_700_000_000 + n},1`,
  );
  await writeFile(join(folder, "clicks.csv"), `user_id,item_id,at,label\n${rows.join("\n")}\n`);
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const items = LISTS.json.map((_, n) =>
    [`i${n}`, ...Object.values(LISTS).map((lists) => quoted(lists[n]!))].join(","),
  );
  await writeFile(join(folder, "items.csv"), `item_id,${Object.keys(LISTS).join(",")}\n${items.join("\n")}\n`);
  await setStatus(edge.store, model, { status: "SCHEDULING", nowMs: NOW });
  const { outcome } = await trainOnFiles({
    ...{ model, folder, location: "*.csv", store: edge.store, nowMs: NOW },
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id", source: { query: "FROM items" } },
      interaction: { created_at: "at", label: { type: "Binary", name: "label" }, source: { query: "FROM clicks" } },
    },
    settings: { fitSecondsMax: 2 },
  });
  expect(outcome.kind).toBe("published");
  const found = async (retrieval: object) => {
    const answer = await edge.call("/v0/models/shop/rank", { body: { user_id: "new", retrieval, limit: 10 } });
    return ((await answer.json()) as string[]).toSorted();
  };
  for (const name of ["json", "python"]) {
    expect(await found({ [name]: { $in: ["café, bar"] } })).toEqual(["i0", "i5"]);
    expect(await found({ [name]: { $all: ["b", "c"] } })).toEqual(["i4"]);
    expect(await found({ [name]: "None" })).toEqual([]);
  }
  expect(await found({ commas: "b" })).toEqual(["i0", "i1", "i4"]);
});
