import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { topK } from "../../../../shared/top-k.ts";
import {
  BLEND,
  blendOfFitted,
  blendParams,
  methodNamed,
  partsOf,
  unknownMethod,
} from "../../../../trainer/choose/tries/blend-method.ts";
import { withColdItems } from "../../../../trainer/learn/attributes/cold-start.ts";
import { ease } from "../../../../trainer/learn/ease.ts";
import { itemKnn } from "../../../../trainer/learn/item-knn.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";

const methods = { popularity: popularity as Method, ease: ease as Method, item_knn: itemKnn as Method };
const data = checkerboard(20);
const easeParams = { ...ease.grid(data)[0]!, lambda: 1 };
const parts = [
  { method: "ease", params: easeParams, share: 1 },
  { method: "ease", params: { ...easeParams, lambda: 9 }, share: 0.3 },
];

test("settings of the parts become one flat table, and come back, also through JSON", () => {
  const params = blendParams(parts);
  expect(params).toMatchObject({ "0.ease.share": 1, "0.ease.lambda": 1, "1.ease.share": 0.3, "1.ease.lambda": 9 });
  expect(partsOf(JSON.parse(JSON.stringify(params)) as typeof params)).toEqual(parts);
});
test("settings of another form are refused", () =>
  expect(() => partsOf({ lambda: 1 })).toThrow('A blend\'s settings are like "0.ease.lambda"; found "lambda".'));

describe("a method by its name", () => {
  test("one of the table", () => expect(methodNamed("ease", methods)).toBe(methods.ease));
  test("the blend", () => expect(methodNamed(BLEND, methods)!.name).toBe("blend"));
  test("not known", () => expect(methodNamed("oracle", methods)).toBeUndefined());
});

test("what is not known of a choice: its method, a part of its blend, or the blend when nothing can be read of it", () => {
  const unknown = (method: string, params = {}) => unknownMethod({ method, params }, methods);
  expect([unknown("ease"), unknown("oracle"), unknown(BLEND, blendParams(parts))]).toEqual([
    undefined,
    "oracle",
    undefined,
  ]);
  const gone = { method: "oracle", params: {}, share: 1 };
  expect(unknown(BLEND, blendParams([parts[0]!, gone]))).toBe("oracle");
  expect([unknown(BLEND), unknown(BLEND, { lambda: 1 }), unknown(BLEND, { "1.ease.share": 1 })]).toEqual([
    BLEND,
    BLEND,
    BLEND,
  ]);
});

const blendMethod = methodNamed(BLEND, methods)!;
test("a blend fitted from its settings is the blend of its parts fitted one by one", async () => {
  const whole = await blendMethod.fit(data, blendParams(parts), fitContext());
  const fitted = await Promise.all(parts.map(({ params }) => ease.fit(data, params, fitContext())));
  const byHand = blendOfFitted(
    {},
    fitted.map((model, i) => ({ model, weight: parts[i]!.share })),
  );
  const history = { items: [2 as never, 4 as never], agesDays: [1, 0] };
  expect([...referenceScores(whole, history)]).toEqual([...referenceScores(byHand, history)]);
  expect(whole.method).toBe("blend");
});
test("cold items are placed once in the lists of a blend, whatever its parts, and its export says so too", async () => {
  const shop = twoAisles();
  const cold = { ease: withColdItems(ease as Method), item_knn: withColdItems(itemKnn as Method) };
  const own = { ...easeParams, coldEvery: 3 };
  const params = blendParams([
    { method: "ease", params: own, share: 1 },
    { method: "item_knn", params: { ...itemKnn.grid(shop)[0]!, coldEvery: 5 }, share: 0.5 },
  ]);
  const method = methodNamed(BLEND, cold)!;
  const model = await method.fit(shop, params, fitContext());
  const history = { items: [0, 4] as ItemIndex[], agesDays: [1, 0] };
  const scorer = await openScorer(model.export({ weightBytesMax: 1e6 }), shop.itemCount);
  const exported = await scorer.score(history);
  await scorer.close();
  for (const [item, score] of referenceScores(model, history).entries()) expect(exported[item]).toBeCloseTo(score, 4);
  const ranked = topK(exported, shop.itemCount, (item) => !history.items.includes(item));
  expect(ranked.indexOf(22 as ItemIndex)).toBe(5); // one cold item in this aisle, behind the fifth
  const each = partsOf(params).map((part) => cold[part.method as "ease"].cost(shop, part.params));
  const { seconds, shared } = method.cost(shop, params);
  expect(seconds).toBeCloseTo(each[0]!.seconds + each[1]!.seconds - shared!.seconds, 9);
});
test("a part that is gone is named", () => {
  const params = blendParams([{ method: "oracle", params: {}, share: 1 }]);
  return expect(blendMethod.fit(data, params, fitContext())).rejects.toThrow('method "oracle", which is not known');
});
