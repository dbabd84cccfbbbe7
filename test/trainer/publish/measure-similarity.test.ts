import { expect, test } from "vitest";
import { decodeAttributes, encodeAttributes } from "../../../shared/attributes.ts";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import { POPULARITY } from "../../../shared/manifest.ts";
import { rank } from "../../../shared/rank.ts";
import { decodeSimilarity } from "../../../shared/similarity.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";
import { popularityOrder } from "../../../trainer/choose/splits/validation.ts";
import { graphFilter } from "../../../trainer/learn/graph-filter.ts";
import { METHODS } from "../../../trainer/learn/methods.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { measureSimilarity } from "../../../trainer/publish/measure-similarity.ts";
import { reorderItems } from "../../../trainer/read/dataset/reorder-items.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { missingRealData, readRealData } from "../../fixtures/real-data.ts";

const missing = missingRealData("ml-100k");
const LIST = 10;

test.skipIf(missing !== undefined).each([
  [graphFilter.name, 1.8, 1.03],
  [POPULARITY, 1.5, 1.03],
])(`films like a film share its genres, by %s ${missing ?? ""}`, async (name, overChance, overNext) => {
  const { dataset } = await readRealData("ml-100k", { withAttributes: true });
  const data = reorderItems(dataset, popularityOrder(dataset, 10_000, 1));
  const { itemCount } = data;
  const scorer = await openScorer(
    (await METHODS[name]!.fit(data, METHODS[name]!.grid(data)[0]!, fitContext())).export({ weightBytesMax: 1e9 }),
    itemCount,
  );
  const snapshot: Snapshot = {
    version: "v1",
    itemCount,
    itemIdType: "integer",
    historyMax: 10,
    indexOf: (id) => Number(id) as ItemIndex,
    idAt: (item) => String(item) as ItemId,
    userRecord: async () => undefined,
    score: scorer.score,
    compileFilter: () => () => true,
    personalizes: name !== POPULARITY,
    // Without attributes, a popularity model has only what the same users chose.
    attributes: name === POPULARITY ? null : decodeAttributes(encodeAttributes(data.itemAttributes, itemCount)),
    similarity: decodeSimilarity(await measureSimilarity(scorer, data, name)),
  };
  const genres = data.itemAttributes.find(({ name }) => name === "genres")!;
  const genresOf = (item: number) =>
    "start" in genres ? new Set(genres.codes.subarray(genres.start[item], genres.start[item + 1])) : new Set<number>();
  const overlap = (a: number, b: number) => {
    const shared = [...genresOf(a)].filter((genre) => genresOf(b).has(genre)).length;
    return shared / (genresOf(a).size + genresOf(b).size - shared);
  };
  const request = { userId: undefined, limit: LIST, session: [], filter: undefined, excludeSeen: true, nowSeconds: 0 };
  const sums = { similar: 0, next: 0, chance: 0, rare: 0 };
  const positives = new Uint32Array(itemCount);
  for (const [at, item] of data.items.entries()) positives[item]! += data.positive[at]!;
  for (let film = 0; film < 500; film += 5) {
    const id = String(film) as ItemId;
    const { items: similar } = await rank({ ...request, similarTo: id }, snapshot);
    const { items: next } = await rank({ ...request, session: [id] }, snapshot);
    for (const other of similar) sums.similar += overlap(film, other);
    sums.rare += similar.filter((other) => positives[other]! < 5).length;
    for (const other of next) sums.next += overlap(film, other);
    for (let i = 1; i <= LIST; i++) sums.chance += overlap(film, (film + 47 * i) % 500);
  }
  await scorer.close();
  expect(sums.rare / (100 * LIST)).toBeLessThan(0.1); // films that nobody has chosen, by their genres; .16 without the noise of rare items
  expect(sums.similar / sums.chance).toBeGreaterThan(overChance);
  expect(sums.similar / sums.next).toBeGreaterThan(overNext);
});
