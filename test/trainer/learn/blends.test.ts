import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { topK } from "../../../shared/top-k.ts";
import { withColdItems } from "../../../trainer/learn/attributes/cold-start.ts";
import {
  BLEND,
  blendOf,
  blendParams,
  methodNamed,
  partsOf,
  standardBlends,
  unknownMethod,
} from "../../../trainer/learn/blends.ts";
import { graphFilter } from "../../../trainer/learn/graph-filter.ts";
import { implicitAls } from "../../../trainer/learn/implicit-als.ts";
import { localSetRidge } from "../../../trainer/learn/local-set-ridge.ts";
import type { Cost, FitContext, Method, Params } from "../../../trainer/learn/model.ts";
import { pooledHistory } from "../../../trainer/learn/pooled-history.ts";
import { popularity } from "../../../trainer/learn/popularity.ts";
import { sasrec } from "../../../trainer/learn/sasrec.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { sequentialRidge } from "../../../trainer/learn/sequential-ridge.ts";
import { sessionWalk } from "../../../trainer/learn/session-walk.ts";
import { sharpenedFilter } from "../../../trainer/learn/sharpened-filter.ts";
import { checkerboard, trainingData } from "../../fixtures/checkerboard.ts";
import { ease } from "../../fixtures/ease.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";
import { modelSuite } from "../../suites/model-suite.ts";

const families = [
  ease,
  graphFilter,
  implicitAls,
  localSetRidge,
  pooledHistory,
  sasrec,
  sequentialRidge,
  sessionWalk,
  { ...sharpenedFilter, grid: () => [] },
] as unknown as Method[];
const byName = (methods: readonly Method[]) => Object.fromEntries(methods.map((one) => [one.name, one]));
for (const method of standardBlends(byName(families))) modelSuite(method);
describe("on sparse data", () => {
  const sparse = standardBlends(byName([...families, sharpenedFilter as unknown as Method]));
  for (const method of sparse.filter(({ name }) => ["set_blend", "pooled_blend"].includes(name))) modelSuite(method);
});

test("on sparse data, a network's second guess does without the far ridge", () => {
  const grid = standardBlends(byName(families))
    .find(({ name }) => name === "neural_blend")!
    .grid(checkerboard(20));
  const guesses = grid.map((params) => partsOf(params).map(({ method }) => method));
  expect(guesses).toEqual([
    ["sasrec", "sequential_ridge", "sequential_ridge"],
    ["sasrec", "sequential_ridge"],
  ]);
  const near = grid.map((params) => ({ ...partsOf(params).at(-1)!, share: 0 }));
  expect(near[1]).toEqual(near[0]);
});

test.each([
  [19_900, [0.15, 0.09], 0.36],
  [20_000, [0.05, 0.03], 0.12],
])("with %s interactions, the ridges beside a network weigh %s, and %s", (entryCount, both, nearAlone) => {
  const histories = Array.from({ length: entryCount / 100 }, (_, user) =>
    Array.from({ length: 100 }, (_, i) => user + i),
  );
  const { grid } = standardBlends(byName(families)).find(({ name }) => name === "neural_blend")!;
  const shares = grid(trainingData(300, histories)).map((params) => partsOf(params).map(({ share }) => share));
  expect(shares).toEqual([
    [1, ...both],
    [1, nearAlone],
  ]);
});

const methods = { popularity: popularity as Method, ease: ease as Method, local_ridge: localSetRidge as Method };
const data = checkerboard(20);
const easeParams = { ...ease.grid(data)[0]!, lambda: 1 };
const parts = [
  { method: "ease", params: easeParams, share: 1 },
  { method: "ease", params: { ...easeParams, lambda: 9 }, share: 0.3 },
];

test("settings of the parts become one flat table, and come back, also through JSON", () => {
  const params = blendParams(parts);
  expect(params).toMatchObject({ "0.ease.share": 1, "0.ease.lambda": 1, "1.ease.share": 0.3, "1.ease.lambda": 9 });
  expect(partsOf(JSON.parse(JSON.stringify({ ...params, coldEvery: 50 })) as typeof params)).toEqual(parts);
});
test("settings of another form are refused", () =>
  expect(() => partsOf({ lambda: 1 })).toThrow('A blend\'s settings are like "0.local_ridge.lambda"; found "lambda".'));

describe("a method by its name", () => {
  test("one of the table", () => expect(methodNamed("ease", methods)).toBe(methods.ease));
  test("not known", () => expect(methodNamed("oracle", methods)).toBeUndefined());
  test("the blend, also of the parts of a blend in the table", () => {
    const sum = blendOf({ ease: methods.ease }, "sum");
    expect(Object.keys(methodNamed(BLEND, { sum })!.partMethods!)).toEqual(["ease", "sum"]);
  });
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
  const unreadable = [{}, { lambda: 1 }, { "1.ease.share": 1 }];
  expect(unreadable.map((params) => unknown(BLEND, params))).toEqual([BLEND, BLEND, BLEND]);
});

const blendMethod = methodNamed(BLEND, methods)!;
test("the scores of a blend are the weighted sum of its parts', each divided by its spread", async () => {
  const history = { items: [2 as ItemIndex, 4 as ItemIndex], agesDays: [1, 0] };
  const whole = await blendMethod.fit(data, blendParams(parts), fitContext());
  const fitted = await Promise.all(parts.map(({ params }) => ease.fit(data, params, fitContext())));
  const each = fitted.map((model) => referenceScores(model, history));
  const spreads = each.map((scores) => {
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    return Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  });
  for (const [item, score] of referenceScores(whole, history).entries()) {
    expect(score).toBeCloseTo(each[0]![item]! / spreads[0]! + (0.3 * each[1]![item]!) / spreads[1]!, 4);
  }
  expect(whole.method).toBe("blend");
});
test("cold items are placed once in the lists of a blend, whatever its parts, and its export says so too", async () => {
  const shop = twoAisles();
  const cold = { ease: withColdItems(ease as Method), local_ridge: withColdItems(localSetRidge as Method) };
  const params = blendParams([
    { method: "ease", params: easeParams, share: 1 },
    { method: "local_ridge", params: localSetRidge.grid(shop)[0]!, share: 0.5 },
  ]);
  const method = methodNamed(BLEND, cold)!;
  const model = await method.fit(shop, { ...params, coldEvery: 5 }, fitContext());
  const history = { items: [0, 4] as ItemIndex[], agesDays: [1, 0] };
  const scorer = await openScorer(model.export({ weightBytesMax: 1e6 }), shop.itemCount);
  const exported = await scorer.score(history);
  await scorer.close();
  for (const [item, score] of referenceScores(model, history).entries()) expect(exported[item]).toBeCloseTo(score, 4);
  const ranked = topK(exported, shop.itemCount, (item) => !history.items.includes(item));
  expect(ranked.indexOf(22 as ItemIndex)).toBe(5); // one cold item in this aisle, behind the fifth
});
test("a part that is gone is named", () => {
  const params = blendParams([{ method: "oracle", params: {}, share: 1 }]);
  return expect(blendMethod.fit(data, params, fitContext())).rejects.toThrow('method "oracle", which is not known');
});

describe("the parts of a blend", () => {
  const seen: FitContext[] = [];
  let seconds = 0;
  const part = (name: string, cost: Cost, fillsItsTime = false): Method => ({
    name,
    fillsItsTime,
    grid: () => [],
    cost: () => cost,
    fit: (given, _params, context) => {
      seen.push(context);
      context.progress(0.5, "half");
      seconds += cost.seconds;
      return ease.fit(given, ease.grid(given)[0]!, fitContext());
    },
  });
  const blend = blendOf({
    long: part("long", { seconds: 90, memoryMb: 100 }, true),
    quick: part("quick", { seconds: 10, memoryMb: 60 }),
  });
  const params = blendParams(["long", "quick"].map((method) => ({ method, params: { lambda: 1 }, share: 1 })));

  test.each([
    ["what is left", 300, 290],
    ["its shortest training", 50, 90],
  ])("come last when they can fill any time, with %s, and get a slice of the progress", async (_, secondsMax, left) => {
    seen.length = 0;
    const progress: [number, string][] = [];
    const report = (...report: [number, string]) => progress.push(report);
    await blend.fit(data, params, { ...fitContext(), secondsMax, clock: () => seconds, progress: report });
    expect(seen[1]!.secondsMax).toBe(left);
    expect(progress.filter(([, detail]) => detail.endsWith("half"))).toEqual([
      [0.25, "quick: half"],
      [0.75, "long: half"],
    ]);
  });
  test("are not fitted when the context has them", async () => {
    seen.length = 0;
    const model = await ease.fit(data, easeParams, fitContext());
    await blend.fit(data, params, {
      ...fitContext(),
      fitPart: async (method, ...given) => (method.partMethods ? await method.fit(...given) : model),
    });
    expect(seen).toEqual([]);
  });
  test("cost the sum of their seconds; each is fitted beside what the others keep, by default half of their peaks", () => {
    expect(blend.cost(data, params)).toEqual({ seconds: 100, memoryMb: 130, heldMb: 80 });
    const light = blendOf({
      long: part("long", { seconds: 90, memoryMb: 100, heldMb: 10 }, true),
      quick: part("quick", { seconds: 10, memoryMb: 60, heldMb: 5 }),
    });
    expect(light.cost(data, params)).toEqual({ seconds: 100, memoryMb: 105, heldMb: 15 });
  });
  test("are smaller where they can be, with the same weights", () => {
    expect(blend.smaller!(params)).toBeUndefined();
    const long = part("long", { seconds: 90, memoryMb: 100 });
    const quick = { ...long, name: "quick", smaller: (given: Params) => ({ ...given, kept: 3 }) };
    const smaller = blendOf({ long, quick }).smaller!({ ...params, coldEvery: 7 });
    expect(smaller).toEqual({ ...params, "1.quick.kept": 3, coldEvery: 7 });
  });
});
