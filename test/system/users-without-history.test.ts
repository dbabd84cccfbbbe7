/** Users with attributes but no history, from files through training and publishing to the real Worker. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringAt } from "../../shared/packed-strings.ts";
import { METRICS } from "../../trainer/choose/evaluate/metrics.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { missingRealData, readRealData, realDataFolder } from "../fixtures/real-data.ts";
import { trainOnFiles } from "../fixtures/train-on-files.ts";

const TIMEOUT = 240_000;
const missing = missingRealData("ml-100k");
const model = { customer: "acme", modelName: "films" };
const isHidden = (user: string) => Number(user) % 5 === 0;

let edge: EdgeWorld;
let folder: string;
beforeAll(async () => {
  if (missing) return;
  edge = await startEdge();
  folder = await mkdtemp(join(tmpdir(), "users-without-history-"));
}, TIMEOUT);
afterAll(async () => {
  await edge?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function listFor(user: string): Promise<{ ids: number[]; strategy: string | null }> {
  const answer = await edge.call(`/v0/models/films/rank?user_id=${user}&limit=20`);
  expect(answer.status).toBe(200);
  return { ids: (await answer.json()) as number[], strategy: answer.headers.get("x-rank-strategy") };
}

/** Item ids that each hidden user really liked. */
async function hiddenUsers(): Promise<Map<string, Set<number>>> {
  const { dataset } = await readRealData("ml-100k");
  const liked = new Map<string, Set<number>>();
  for (let user = 0; user < dataset.userCount; user++) {
    const id = stringAt(dataset.userIds, user);
    const rows = Array.from({ length: dataset.userStart[user + 1]! - dataset.userStart[user]! }, (_, i) => i);
    const items = rows.map((i) => i + dataset.userStart[user]!).filter((row) => dataset.positive[row] === 1);
    if (isHidden(id) && items.length > 0)
      liked.set(id, new Set(items.map((row) => Number(stringAt(dataset.itemIds, dataset.items[row]!)))));
  }
  return liked;
}

test.skipIf(missing)(
  `hidden users of ml-100k are served better than by popularity ${missing ?? ""}`,
  {
    timeout: TIMEOUT,
  },
  async () => {
    const { store } = edge;
    await setStatus(store, model, { status: "SCHEDULING", nowMs: Date.now() });
    const { outcome } = await trainOnFiles({
      model,
      folder,
      location: "ml-100k/*",
      schema: {
        user: { id: "user_id", source: { query: "SELECT user_id, age, gender, occupation FROM users" } },
        item: { id: "item_id" },
        interaction: {
          created_at: "created_at",
          label: { type: "Binary", name: "label" },
          source: { query: "SELECT * FROM interactions WHERE user_id % 5 <> 0" },
        },
      },
      store,
      nowMs: Date.now(),
      settings: { fitSecondsMax: 2, memoryMbMax: 2000, weightBytesMax: 4e6 },
      connector: { fileRoots: [dirname(realDataFolder("ml-100k"))] },
    });
    expect(outcome).toMatchObject({ kind: "published", metrics: { user_attributes: { served: true } } });

    const popular = await listFor("nobody");
    expect(popular.strategy).toBe("popular");
    const liked = await hiddenUsers();
    expect(liked.size).toBeGreaterThan(150);
    let [own, byPopularity] = [0, 0];
    for (const [user, items] of liked) {
      const { ids, strategy } = await listFor(user);
      expect(strategy).toBe("personalized");
      own += METRICS.ndcg(ids as never, items as never, 10) / liked.size;
      byPopularity += METRICS.ndcg(popular.ids as never, items as never, 10) / liked.size;
    }
    expect(byPopularity).toBeGreaterThan(0.3);
    expect(own).toBeGreaterThan(byPopularity + 0.005);
  },
);
