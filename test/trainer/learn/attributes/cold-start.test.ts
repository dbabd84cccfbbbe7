import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { topK } from "../../../../shared/top-k.ts";
import { COLD_EVERY, withColdItems } from "../../../../trainer/learn/attributes/cold-start.ts";
import { implicitAls } from "../../../../trainer/learn/implicit-als.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { sequentialRidge } from "../../../../trainer/learn/sequential-ridge.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";
import { ease } from "../../../fixtures/ease.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";

const data = twoAisles();
const history = { items: [0, 4] as ItemIndex[], agesDays: [1, 0] };

test.each([
  ["implicit_als", implicitAls],
  ["sequential_ridge", sequentialRidge],
])(
  "%s: the best cold item stands right behind the tenth other item outside the history, also in the export",
  async (_, method) => {
    const cold = withColdItems(method as Method);
    const params = cold.grid(data)[0]!;
    const model = await cold.fit(data, params, fitContext());
    const scorer = await openScorer(model.export({ weightBytesMax: 1e6 }), data.itemCount);
    const scores = await scorer.score(history);
    await scorer.close();
    for (const [item, score] of referenceScores(model, history).entries()) expect(scores[item]).toBeCloseTo(score, 4);

    const ranked = topK(scores, data.itemCount, (item) => !history.items.includes(item));
    expect(ranked.indexOf(22 as ItemIndex)).toBe(COLD_EVERY);
    expect(scores[23]).toBeLessThan(scores[22]!);

    const plain = referenceScores(await (method as Method).fit(data, params, fitContext()), history);
    for (let item = 0; item < 22; item++) expect(scores[item]).toBeCloseTo(plain[item]!, 4);
  },
);

test("the setting coldEvery changes how many items stand before it, also in the export", async () => {
  const cold = withColdItems(ease as Method);
  const params = { ...cold.grid(data)[0]!, coldEvery: 4 };
  const model = await cold.fit(data, params, fitContext());
  const scorer = await openScorer(model.export({ weightBytesMax: 1e6 }), data.itemCount);
  const exported = await scorer.score(history);
  await scorer.close();
  for (const scores of [exported, referenceScores(model, history)]) {
    const ranked = topK(scores, data.itemCount, (item) => !history.items.includes(item));
    expect(ranked.indexOf(22 as ItemIndex)).toBe(4);
  }
});

test("without cold items the method is unchanged", async () => {
  const board = checkerboard(8);
  const method = ease as Method;
  const [params] = method.grid(board);
  const [extended, plain] = [
    await withColdItems(method).fit(board, params!, fitContext()),
    await method.fit(board, params!, fitContext()),
  ];
  const bytes = (model: typeof plain) => Buffer.from(model.export({ weightBytesMax: 1e6 }).graph).toString("base64");
  expect(bytes(extended)).toBe(bytes(plain));
});

test("the predicted cost includes the cold items, as the part that all fits on the same data share", async () => {
  const fresh = { ...data };
  const method = ease as Method;
  const [params] = method.grid(fresh);
  const cold = withColdItems(method);
  const [plain, before] = [method.cost(fresh, params!), cold.cost(fresh, params!)];
  expect(before.shared).toMatchObject({ isPaid: false });
  expect(before.seconds).toBeCloseTo(plain.seconds + before.shared!.seconds, 9);
  await cold.fit(fresh, params!, fitContext());
  expect(withColdItems(sequentialRidge as Method).cost(fresh, {}).shared).toMatchObject({ isPaid: true });
  expect(cold.cost(fresh, params!).seconds).toBe(before.seconds);
  expect(cold.cost(checkerboard(8), params!).shared).toBeUndefined();
});
