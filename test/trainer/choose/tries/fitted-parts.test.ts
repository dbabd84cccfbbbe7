import { beforeEach, expect, test } from "vitest";
import { fittedParts } from "../../../../trainer/choose/tries/fitted-parts.ts";
import { withColdItems } from "../../../../trainer/learn/attributes/cold-start.ts";
import { blendOf, blendParams } from "../../../../trainer/learn/blends.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const data = checkerboard(8);
let fits: string[];
let now = 0;
beforeEach(() => {
  fits = [];
  now = 0;
});
/** A method whose fits are predicted to take ten seconds and to need 20 MB. */
const taking = (name: string, seconds: number): Method => ({
  name,
  grid: () => [],
  cost: () => ({ seconds: 10, memoryMb: 20 }),
  fit: async ({ itemCount }, params) => {
    fits.push(`${name} ${params.lambda}`);
    now += seconds;
    return fittedLinear(name, params, { itemCount, terms: [], bias: new Float32Array(itemCount) });
  },
});
const [a, b] = [taking("a", 20), taking("b", 5)];
const open = (memoryMb = 100) => fittedParts(data, { clock: () => now }, memoryMb);
const one = (method: Method, lambda = 1) => ({ method, params: { lambda } });

test("settings are fitted once, alone and in blends, with and without cold items", async () => {
  const parts = open();
  await parts.fit(withColdItems(a), data, { lambda: 1, coldEvery: 50 }, fitContext());
  await parts.fit(a, data, { lambda: 1 }, fitContext());
  const blend = blendOf({ a: withColdItems(a), b });
  const params = blendParams([
    { method: "a", params: { lambda: 1 }, share: 1 },
    { method: "b", params: { lambda: 1 }, share: 0.5 },
  ]);
  const candidate = { method: blend, params };
  expect(parts.missing(candidate).map(({ method }) => method.name)).toEqual(["b"]);
  await parts.fit(blend, data, params, fitContext());
  expect(fits).toEqual(["a 1", "b 1"]);
  expect(parts.missing(candidate)).toEqual([]);
  expect([parts.secondsToFit(candidate), parts.secondsAlone(candidate)]).toEqual([0, 25]);
  expect(parts.heldMb()).toBe(20); // half of the peaks
});
test("other settings and other data are fitted", async () => {
  const parts = open();
  await parts.fit(a, data, { lambda: 1 }, fitContext());
  await parts.fit(a, data, { lambda: 2 }, fitContext());
  await parts.fit(a, checkerboard(8), { lambda: 1 }, fitContext());
  expect(fits).toEqual(["a 1", "a 2", "a 1"]);
});
test("a method's fits are predicted by its earlier ones, other methods' by all, but never below their prediction", async () => {
  const parts = open();
  expect(parts.secondsToFit(one(a))).toBe(10);
  await parts.fit(b, data, { lambda: 1 }, fitContext());
  expect(parts.secondsToFit(one(b, 2))).toBeCloseTo((10 * (3 + 5)) / (3 + 10));
  expect(parts.secondsToFit(one(a))).toBe(10);
  await parts.fit(a, data, { lambda: 1 }, fitContext());
  const pace = (3 + 20 + 5) / (3 + 10 + 10);
  expect(parts.secondsToFit(one(a, 2))).toBeCloseTo((10 * (3 * pace + 20)) / (3 + 10));
  expect(parts.secondsToFit(one(taking("c", 1)))).toBeCloseTo(10 * pace);
});
test("one short fit that takes long does not let all others seem too long", async () => {
  const parts = open();
  const short = { ...taking("short", 20), cost: () => ({ seconds: 0.2, memoryMb: 20 }) }; // 100 times its prediction
  await parts.fit(short, data, { lambda: 1 }, fitContext());
  expect(parts.secondsToFit(one(a))).toBeCloseTo((10 * 23) / 3.2);
});
test("a network is predicted to train faster on several threads, where there are enough data to share", () => {
  const network = one({ ...taking("network", 1), fillsItsTime: true });
  const large = { ...data, items: new Int32Array(64_000) };
  const predicted = (train: typeof data, threads: number) =>
    fittedParts(train, { clock: () => now, threads }, 100).secondsToFit(network);
  expect([predicted(large, 1), predicted(data, 4)]).toEqual([10, 10]);
  expect(predicted(large, 2)).toBeCloseTo(6.5);
  expect(predicted(large, 4)).toBeCloseTo(4.75);
  expect(predicted(large, 64)).toBe(predicted(large, 4));
});
test("beyond the memory, the models of the worst candidates are forgotten first", async () => {
  const parts = open(25);
  for (const lambda of [1, 2]) await parts.fit(a, data, { lambda }, fitContext());
  parts.keepFor(one(a, 1), 0.3);
  parts.keepFor(one(a, 2), 0.2);
  await parts.fit(a, data, { lambda: 3 }, fitContext());
  expect([1, 2, 3].map((lambda) => parts.missing(one(a, lambda)).length)).toEqual([0, 1, 0]);
  expect(parts.secondsAlone(one(a, 2))).toBe(20);
});
