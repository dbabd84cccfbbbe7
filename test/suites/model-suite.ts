import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import { fewScores } from "../../shared/rank/few-scores.ts";
import { reasonsFor } from "../../shared/rank/reasons.ts";
import { decodeRecipe } from "../../shared/score-recipe.ts";
import type { History, ScoreAt } from "../../shared/snapshot.ts";
import { topK } from "../../shared/top-k.ts";
import type { ExportedModel, FittedModel, Method, TrainingData } from "../../trainer/learn/model.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { goldenScores } from "../../trainer/publish/golden.ts";
import { scoreRecipeFile } from "../../trainer/publish/score-recipe.ts";
import { checkerboard, trainingData } from "../fixtures/checkerboard.ts";
import { fitContext } from "../fixtures/fit-context.ts";
import { referenceScores } from "../fixtures/reference-scores.ts";

const SIZE = 20;
const ROOMY = { weightBytesMax: 1e9 };

export type SuiteOptions = {
  /** False for a method that gives every history the same scores. */
  readonly personal?: boolean;
  /** Largest relative difference between the exported scores and the reference. */
  readonly tolerance?: number;
};

/** The behaviour that every method must have. A new method is done when this passes for it. */
export function modelSuite(method: Method, { personal = true, tolerance = 1e-5 }: SuiteOptions = {}): void {
  const fitted = (data: TrainingData, seed = 1) => method.fit(data, method.grid(data)[0]!, fitContext(seed));
  const board = checkerboard(SIZE);
  let boardModel: Promise<FittedModel> | undefined;
  /** One fit of the board serves several tests, because models are immutable and networks take seconds. */
  const fittedBoard = () => {
    boardModel ??= fitted(board);
    return boardModel;
  };

  describe(`${method.name} behaves as a method must`, () => {
    test.runIf(personal)("finds the only right item for every user of the checkerboard", async () => {
      const scorer = await openScorer((await fittedBoard()).export(ROOMY), SIZE);
      for (let user = 0; user < SIZE; user++) {
        const history = historyOf(board, user);
        const scores = await scorer.score(history);
        expect(topK(scores, 1, (item) => !history.items.includes(item))).toEqual([user]);
      }
      await scorer.close();
    });

    test.runIf(personal)(
      "leaving a reason out of the history lowers the score in proportion to its share",
      async () => {
        const scorer = await openScorer((await fittedBoard()).export(ROOMY), SIZE);
        const history = historyOf(board, 3);
        const whole = await scorer.score(history);
        const items = topK(whole, 3, (item) => !history.items.includes(item));
        const reasons = await reasonsFor(items, history, { ...scorer, itemCount: SIZE });
        for (const [i, item] of items.entries()) {
          const drops: number[] = [];
          for (const { item: left } of reasons[i]!) {
            const isKept = (_: number, at: number) => history.items[at] !== left;
            const rest = { items: history.items.filter(isKept), agesDays: history.agesDays.filter(isKept) };
            drops.push(whole[item]! - (await scorer.score(rest))[item]!);
          }
          for (const [at, { share }] of reasons[i]!.entries()) {
            expect(drops[at]).toBeGreaterThan(0);
            expect(drops[at]! / drops[0]!).toBeCloseTo(share / reasons[i]![0]!.share, 3);
          }
        }
        expect(reasons[0]!.length).toBeGreaterThan(0);
        await scorer.close();
      },
    );

    test.runIf(personal)("reasons from the recipe, if it has one, are those of leaving items out by runs", async () => {
      const model = await fittedBoard();
      const whole = model.export(ROOMY);
      const weightBytesMax = whole.weights.reduce((sum, { bytes }) => sum + bytes.length, 0) / 2;
      for (const exported of [whole, model.export({ weightBytesMax })]) {
        if (!exported.recipe) continue;
        const scorer = await openScorer(exported, SIZE);
        const past = historyOf(board, 3);
        const byRuns = { score: async (history: History) => (await scorer.score(history)).slice(), itemCount: SIZE };
        const file = scoreRecipeFile(exported, SIZE, await goldenScores(scorer, [past]));
        const bytesOf = (path: string) => exported.weights.find((weights) => weights.path === path)?.bytes;
        const scoreAt: ScoreAt = async (histories, items) =>
          fewScores(decodeRecipe(file!), { histories, items, itemCount: SIZE }, bytesOf)!;
        const items = topK(await byRuns.score(past), 5);
        // Undefined for a blend whose parts have no sums over the catalog; a damaged recipe would be left out too.
        if (file === undefined) expect(exported.recipe.recipe.kind).toBe("blend");
        else {
          const [found, expected] = await Promise.all(
            [byRuns, { ...byRuns, scoreAt }].map((one) => reasonsFor(items, past, one)),
          );
          for (const [i, reasons] of expected!.entries())
            expect(found![i]!.map(({ share }) => share)).toEqual(reasons.map(({ share }) => expect.closeTo(share, 3)));
        }
        await scorer.close();
      }
    });

    test("the export scores as the fitted model does, for short and long histories and for repeats", async () => {
      await expectParity(await fittedBoard(), SIZE, tolerance);
    });

    test("the same data and seed give the same bytes", async () => {
      const [once, again] = [await fittedBoard(), await fitted(board)].map((model) => model.export(ROOMY));
      expect(bytesOf(again!)).toEqual(bytesOf(once!));
    });

    test("an export keeps to a small budget, reports what it left out, and has finite scores", async () => {
      const model = await fittedBoard();
      const whole = sizeOf(model.export(ROOMY));
      const weightBytesMax = Math.max(Math.ceil(whole / 3), 4 * SIZE);
      const exported = model.export({ weightBytesMax });
      expect(sizeOf(exported)).toBeLessThanOrEqual(weightBytesMax);
      expect(exported.truncation !== "").toBe(whole > weightBytesMax);
      const scores = await answer(exported, SIZE, historyOf(board, 3));
      expect(scores.every(Number.isFinite)).toBe(true);
    });

    test("an export within the size of its codes leaves nothing out", async () => {
      const model = await fittedBoard();
      const exported = model.export({ weightBytesMax: model.bytesCoded() });
      expect(sizeOf(exported)).toBeLessThanOrEqual(model.bytesCoded());
      expect(exported.truncation).not.toMatch(/ of \d/);
    });

    test.each([
      ["one item and one user", trainingData(1, [[0]])],
      ["users with one entry each", trainingData(4, [[0], [1], [2]])],
      [
        "an item that nobody chose, a user without entries, and repeats",
        trainingData(5, [[], [0, 0, 0, 1], [1, 2, 0], [3, 3, 2]]),
      ],
    ])("a fit succeeds on %s", async (_, data) => {
      await expectParity(await fitted(data), data.itemCount, tolerance);
    });

    test("a fit succeeds on negative interactions alone", async () => {
      const data = { ...checkerboard(6), positive: new Uint8Array(checkerboard(6).items.length) };
      await expectParity(await fitted(data), 6, tolerance);
    });

    test("an aborted fit throws the reason of the abort", async () => {
      const controller = new AbortController();
      controller.abort(new Error("enough"));
      const context = { ...fitContext(), signal: controller.signal };
      await expect(method.fit(board, method.grid(board)[0]!, context)).rejects.toThrow("enough");
    });

    test.runIf(method.smaller)("smaller settings need no more memory, and there are none below them", async () => {
      for (const params of method.grid(board)) {
        const smaller = method.smaller!(params);
        if (!smaller) continue;
        expect(method.cost(board, smaller).memoryMb).toBeLessThanOrEqual(method.cost(board, params).memoryMb);
        expect(method.smaller!(smaller)).toBeUndefined();
      }
      const params = method.smaller!(method.grid(board)[0]!);
      if (!params || method.partMethods) return; // parts have tests of their own
      expect((await method.fit(board, params, fitContext(1))).params).toEqual(params);
    });

    test("every setting of the grid has a predicted cost that is finite and positive", () => {
      for (const params of method.grid(board)) {
        const { seconds, memoryMb } = method.cost(board, params);
        for (const cost of [seconds, memoryMb]) expect(cost > 0 && Number.isFinite(cost)).toBe(true);
      }
    });
  });
}

const sizeOf = ({ weights }: ExportedModel) => weights.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The export and the reference give the same finite scores for histories of several lengths; none is empty. */
async function expectParity(model: FittedModel, itemCount: number, tolerance: number): Promise<void> {
  const scorer = await openScorer(model.export(ROOMY), itemCount);
  const lengths = [1, 2, 3, 7, Math.min(500, model.historyMax)].filter((length) => length <= model.historyMax);
  for (const length of lengths) {
    const history = {
      items: Array.from({ length }, (_, i) => ((i * 7 + (i >> 2)) % itemCount) as ItemIndex),
      agesDays: Array.from({ length }, (_, i) => (length - 1 - i) * 1.5),
    };
    const expected = referenceScores(model, history);
    const actual = await scorer.score(history);
    expect(actual.every(Number.isFinite)).toBe(true);
    const largest = Math.max(1e-30, ...expected.map(Math.abs));
    for (const [item, score] of actual.entries()) {
      expect(Math.abs(score - expected[item]!) / largest).toBeLessThanOrEqual(tolerance);
    }
  }
  await scorer.close();
}

async function answer(exported: ExportedModel, itemCount: number, history: History): Promise<Float32Array> {
  const scorer = await openScorer(exported, itemCount);
  const scores = await scorer.score(history);
  await scorer.close();
  return scores;
}

/** A user's history; the newest entry has the age 0. */
function historyOf(data: TrainingData, user: number): History {
  const items = [...data.items.subarray(data.userStart[user], data.userStart[user + 1])] as ItemIndex[];
  return { items, agesDays: items.map((_, i) => items.length - 1 - i) };
}

/** Digests of the graph and of each file, so that a failed comparison stays readable. */
const bytesOf = ({ graph, weights }: ExportedModel) =>
  [{ path: "graph", bytes: graph }, ...weights].map(
    ({ path, bytes }) => `${path} ${createHash("sha256").update(bytes).digest("hex")}`,
  );
