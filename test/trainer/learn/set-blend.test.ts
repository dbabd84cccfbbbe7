import { expect, test } from "vitest";
import type { Method } from "../../../trainer/learn/model.ts";
import { setBlend } from "../../../trainer/learn/set-blend.ts";
import { checkerboard } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(setBlend as Method);

test("a part without a weight is neither fitted nor served, nor one that recorded settings lack", async () => {
  const data = checkerboard(12);
  const first = setBlend.grid(data)[0]!;
  const { alsShare: _, ...older } = first;
  const partsOf = async (params: typeof first) => {
    const fitted = new Set<string>();
    const progress = (_: number, detail: string) => fitted.add(detail.split(":")[0]!);
    const model = await setBlend.fit(data, params, { ...fitContext(), progress });
    const files = model.export({ weightBytesMax: 1e9 }).weights.map(({ path }) => path.split("_")[0]!);
    return { fitted: [...fitted], files: new Set(files).size };
  };
  expect(await partsOf(first)).toEqual({ fitted: ["local_ridge", "graph_filter", "implicit_als"], files: 3 });
  for (const params of [{ ...first, alsShare: 0 }, older as typeof first]) {
    expect(await partsOf(params)).toEqual({ fitted: ["local_ridge", "graph_filter"], files: 2 });
  }
});

test("the cost grows with the parts", () => {
  const data = checkerboard(12);
  const first = setBlend.grid(data)[0]!;
  const [whole, without] = [first, { ...first, alsShare: 0 }].map((params) => setBlend.cost(data, params));
  expect(whole!.seconds).toBeGreaterThan(without!.seconds);
  expect(whole!.memoryMb).toBeGreaterThan(without!.memoryMb);
});
