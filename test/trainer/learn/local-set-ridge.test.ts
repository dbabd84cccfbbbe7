import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { localSetRidge } from "../../../trainer/learn/local-set-ridge.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { solvedLonghand } from "../../fixtures/solved-longhand.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";

test("with attributes, the weights are those of the aisles plus a ridge on the remainder, both without the item itself", async () => {
  const data = twoAisles();
  const { itemCount, userCount, userStart, items } = data;
  const every = Array.from({ length: itemCount }, (_, item) => item);
  const gram = every.map(() => every.map(() => 0));
  for (let user = 0; user < userCount; user++) {
    const own = new Set(items.subarray(userStart[user], userStart[user + 1]));
    for (const a of own) for (const b of own) gram[a]![b]!++;
  }
  const chosen = every.filter((item) => gram[item]![item]! > 0);
  const mean = chosen.reduce((sum, item) => sum + gram[item]![item]!, 0) / chosen.length;
  const [lambda, attributes] = [2, 3];

  // One aisle is independent of the other, so that its prior is a number for each target.
  const aisleOf = (item: number) => every.filter((other) => other % 2 === item % 2);
  const total = (aisle: readonly number[]) =>
    aisle.flatMap((a) => aisle.map((b) => gram[a]![b]!)).reduce((x, y) => x + y);
  const priorOf = (source: number, target: number) => {
    const others = aisleOf(source).filter((item) => item !== target);
    const met = others.reduce((sum, item) => sum + gram[item]![target]!, 0);
    return source === target ? 0 : met / (total(aisleOf(source)) + attributes * mean);
  };
  const weightsTo = (target: number) => {
    const neighbours = every.filter((item) => item !== target && gram[item]![target]! > 0);
    const rest = neighbours.map(
      (item) => gram[item]![target]! - every.reduce((sum, k) => sum + gram[item]![k]! * priorOf(k, target), 0),
    );
    const system = neighbours.map((a) => neighbours.map((b) => gram[a]![b]! + (a === b ? lambda * mean : 0)));
    const solved = neighbours.length === 0 ? [] : solvedLonghand(system, rest);
    return every.map((item) => priorOf(item, target) + (solved[neighbours.indexOf(item)] ?? 0));
  };

  const params = { lambda, attributes, userExponent: 0, penaltyExponent: 0, recentScale: 0, neighbours: itemCount };
  const model = await localSetRidge.fit(data, params, fitContext());
  for (const target of every) {
    const expected = weightsTo(target);
    for (const source of every) {
      if (source === target) continue;
      const scores = referenceScores(model, { items: [source as ItemIndex], agesDays: [0] });
      expect(scores[target]).toBeCloseTo(expected[source]!, 3);
    }
  }
});
