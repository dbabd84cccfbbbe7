import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeAttributes } from "../../../shared/attributes.ts";
import { blobKey } from "../../../shared/manifest.ts";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
const [USERS, ITEMS] = [200, 30];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "vectors-"));
  const random = seededRandom(2);
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < USERS; user++)
    for (let row = 0; row < 6; row++) {
      const item = (user % 2) + 2 * Math.floor((random() * (ITEMS - 2)) / 2);
      rows.push(`u${user},i${item},${NOW / 1000 - 86_400 * (6 - row) - user},1`);
    }
  await writeFile(join(folder, "interactions.csv"), rows.join("\n"));
  const vector = (item: number) => Array.from({ length: 8 }, (_, i) => (i === item % 2 ? 1 : 0) + random() / 10);
  const items = Array.from({ length: ITEMS }, (_, item) => `i${item},red,"${JSON.stringify(vector(item))}"`);
  await writeFile(join(folder, "items.csv"), ["item_id,colour,text", ...items].join("\n"));
});
afterAll(() => rm(folder, { recursive: true }));

test("vectors of items are learnt from, and no version has them", async () => {
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  const { location, schema } = interactionsCsv();
  const { outcome, data } = await trainOnFiles({
    model,
    folder,
    location,
    schema: { ...schema, item: { ...schema.item, source: { query: "SELECT * FROM items" } } },
    store,
    nowMs: NOW,
    settings: { fitSecondsMax: 1 },
  });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  expect(data!.item_attributes).toContainEqual({
    name: "text",
    type: "Vector",
    inferred: true,
    present: ITEMS,
    distinct: null,
  });
  const manifest = (await readManifest(store, model, outcome.version))!;
  const { bytes } = (await store.get(blobKey(model.customer, model.modelName, manifest.attributes!.digest)))!;
  const { columns, itemCount } = decodeAttributes(bytes);
  expect([itemCount, [...columns.keys()]]).toEqual([ITEMS, ["colour"]]);
});
