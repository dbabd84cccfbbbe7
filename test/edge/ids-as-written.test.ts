/** From a file whose ids look like numbers and dates to the lists of the real Worker, in which nothing seen comes back. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { trainOnFiles } from "../fixtures/train-on-files.ts";

const NOW = Date.parse("2024-03-01T00:00:00Z");
const NUMBERS = [
  "1.1",
  "1.10",
  "1.100",
  "2.5",
  "2.50",
  "10",
  "1E1",
  "10.0",
  "7",
  " 7",
  "7.00",
  "0.5",
  ".5",
  "1500000000000",
  "1.50000E+12",
];
const DAYS = ["10-05-05", "2010-05-05", "2010-05-06", "2010/05/06", "11-05-05", "2011-05-05", "2012-01-01T00:00:00Z"];

/** Each user has chosen about half of the items. */
function rowsOf(ids: readonly string[]) {
  const random = seededRandom(3, 1);
  return ids.flatMap((user) => ids.filter(() => random() < 0.5).map((item) => ({ user, item })));
}

let edge: EdgeWorld;
let folder: string;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  folder = await mkdtemp(join(tmpdir(), "edge-ids-"));
});
afterAll(async () => {
  await edge.stop();
  await rm(folder, { recursive: true, force: true });
});

const at = (row: number) => NOW / 1000 - 86_400 + row;

test.each([
  { ids: NUMBERS, name: "numbers", format: "csv" },
  { ids: [...NUMBERS, ...DAYS], name: "mixed", format: "csv" },
  { ids: DAYS, name: "days", format: "jsonl" },
])(
  "every user of a $format of $name gets exactly the items that are not in it",
  { timeout: 120_000 },
  async ({ ids, name, format }) => {
    const rows = rowsOf(ids);
    const lines =
      format === "csv"
        ? ["user_id,item_id,at,label", ...rows.map(({ user, item }, row) => `${user},${item},${at(row)},1`)]
        : rows.map(({ user, item }, row) => JSON.stringify({ user_id: user, item_id: item, at: at(row), label: 1 }));
    await writeFile(join(folder, `${name}.${format}`), `${lines.join("\n")}\n`);
    const model = { customer: "acme", modelName: name };
    await setStatus(edge.store, model, { status: "SCHEDULING", nowMs: NOW });
    const { outcome } = await trainOnFiles({
      ...{ model, folder, location: `${name}.${format}`, store: edge.store, nowMs: NOW },
      schema: {
        user: { id: "user_id" },
        item: { id: "item_id" },
        interaction: {
          created_at: "at",
          label: { type: "Binary", name: "label" },
          source: { query: `FROM ${name}` },
        },
      },
      settings: { fitSecondsMax: 2 },
    });
    expect(outcome.kind).toBe("published");
    const items = [...new Set(rows.map(({ item }) => item))];
    for (const user of ids) {
      const answer = await edge.call(`/v0/models/${name}/rank`, { body: { user_id: user, limit: items.length } });
      const seen = rows.filter((row) => row.user === user).map(({ item }) => item);
      expect([user, ((await answer.json()) as string[]).toSorted()]).toEqual([
        user,
        items.filter((item) => !seen.includes(item)).toSorted(),
      ]);
    }
  },
);
