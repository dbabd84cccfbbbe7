import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { attributeRidge, attributeWeights } from "../../../../trainer/learn/attributes/attribute-ridge.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";

const PARAMS = { lambda: 10, neighbours: 50 };

test("a new item of the user's aisle scores above a new item of the other aisle", async () => {
  const model = await attributeRidge.fit(twoAisles(), PARAMS, fitContext());
  const even = referenceScores(model, { items: [0, 4] as ItemIndex[], agesDays: [1, 0] });
  const odd = referenceScores(model, { items: [3, 7] as ItemIndex[], agesDays: [1, 0] });
  expect(even[22]).toBeGreaterThan(even[23]!);
  expect(odd[23]).toBeGreaterThan(odd[22]!);
});

test("weights go only to the given targets, at most `neighbours` per row", async () => {
  const weights = await attributeWeights(
    twoAisles(),
    Int32Array.of(22, 23),
    { lambda: 10, neighbours: 1 },
    fitContext(),
  );
  expect(new Set(weights.columns)).toEqual(new Set([22, 23]));
  expect(weights.columns.length).toBeLessThanOrEqual(24);
});

test("without attributes the grid is empty", () => {
  expect(attributeRidge.grid(checkerboard(6))).toEqual([]);
  expect(attributeRidge.grid(twoAisles())).toHaveLength(1);
});
