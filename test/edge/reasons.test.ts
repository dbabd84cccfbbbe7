/** Reasons in a real workerd, from the weights in the runtime's heap and by runs of the graph. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { recipeDataset as dataset, RECIPE_MODELS } from "../fixtures/recipe-models.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({
    vars: { ...CACHING, CONCURRENT_RANKS_MAX: 1000, QUEUE_MS_MAX: 10_000, CACHE_MEGABYTES: 120 },
  });
});
afterAll(() => edge.stop());

type Answer = { items: { item_id: number; reasons: { item_id: number; share: number }[] }[] };

const ask = async (model: string, items: readonly number[]) => {
  const interactions = items.map((item) => ({ item_id: item + 1 }));
  const answer = await edge.call(`/v0/models/${model}/rank`, { body: { interactions, return: ["reasons"] } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as Answer).items;
};

const reasonsFrom = (model: string) =>
  edge.log.map((line) => JSON.parse(line)).find((line) => line.event === "version_loaded" && line.model === model)
    ?.reasons_from;

test.each([
  "sparse windows and a bias",
  "fewer weights and a bias in codes",
  "vectors in bytes by place",
  "a blend",
  "cold items in a list",
])("%s: the reasons are the same from the weights and by runs", async (name) => {
  const exported = await RECIPE_MODELS[name]!();
  const [few, runs] = [`few-${name.replaceAll(" ", "-")}`, `runs-${name.replaceAll(" ", "-")}`];
  await edge.publish({ modelName: few, dataset, exported, historyMax: 40 });
  await edge.publish({ modelName: runs, dataset, exported: { ...exported, recipe: undefined }, historyMax: 40 });
  for (const history of [[3, 9], [5, 60, 5, 7, 9, 200], Array.from({ length: 35 }, (_, i) => (i * 37) % 500)]) {
    const [found, expected] = [await ask(few, history), await ask(runs, history)];
    expect(found.map(({ item_id }) => item_id)).toEqual(expected.map(({ item_id }) => item_id));
    for (const [i, { reasons }] of expected.entries())
      expect(found[i]!.reasons).toEqual(
        reasons.map(({ item_id, share }) => ({ item_id, share: expect.closeTo(share, 3) })),
      );
  }
  expect([few, runs].map(reasonsFrom)).toEqual(["weights", "runs"]);
});
