import { expect, test } from "vitest";
import { tryFirstGuesses } from "../../../../trainer/choose/tries/first-guesses.ts";
import { tune } from "../../../../trainer/choose/tries/tune.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { selectState } from "../../../fixtures/select-state.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 3000, items: 20, perUser: 4 });
const rowsOfAll = 9000; // without the held-out ones
/** Popularity, the first `place` items left to the end. A fit on all users costs ten seconds; `place` 9 fails. */
const fittedOn: number[] = [];
let now = 0;
const placing = (name: string, places: number[], more: Partial<Method> = {}): Method => ({
  name,
  grid: () => places.map((place) => ({ place })),
  cost: ({ items }) => ({ seconds: (10 * items.length) / rowsOfAll, memoryMb: 1 }),
  fit: async ({ items, itemCount }, params) => {
    fittedOn.push(items.length);
    now += (10 * items.length) / rowsOfAll;
    if (params.place === 9) throw new Error("singular");
    const bias = Float32Array.from({ length: itemCount }, (_, item) =>
      item < params.place! ? -item : itemCount - item,
    );
    return fittedLinear(name, params, { itemCount, terms: [], bias });
  },
  ...more,
});
const tuned = async (methods: Method[], secondsMax: number) => {
  now = 0;
  const context = { clock: () => now };
  const whole = await selectState(shop, methods, { context, secondsLeft: () => secondsMax - now });
  const state = { ...whole, positions: whole.validation.firstPositions };
  await tryFirstGuesses(state);
  fittedOn.length = 0;
  await tune(state);
  const placesOf = (all: readonly { params: Readonly<Record<string, number>> }[]) =>
    all.map(({ params }) => params.place);
  return { ...state, best: placesOf(state.tried), lost: placesOf(state.discarded) };
};

test("the best two settings of a method stay, the others are told with the figures they lost by", async () => {
  const { best, discarded } = await tuned([placing("a", [3, 0, 1])], 1000);
  expect(best).toEqual([0, 1]);
  expect(discarded[0]).toMatchObject({ outcome: "dropped", params: { place: 3 } });
  expect(discarded[0]!.reason).toMatch(/^ndcg@10 0\.\d{4} on 500 users, and 0\.\d{4} with other settings of the same/);
});
test("with little time most are tried on a third of the users, and the best of those on all", async () => {
  const { best, discarded } = await tuned([placing("a", [1, 4, 3, 2, 0])], 86); // 38 s for four settings
  expect(fittedOn.length).toBe(4 + 2);
  expect(fittedOn.filter((rows) => rows === rowsOfAll).length).toBe(2);
  expect(best).toEqual([0, 1]);
  expect(discarded.some(({ reason }) => reason.includes("after fitting on 33 % of the users"))).toBe(true);
});
test("without time for one, nothing more is tried", async () => {
  const { best, discarded } = await tuned([placing("a", [3, 0, 1])], 28); // 9 s for settings of 10 s
  expect([best, fittedOn]).toEqual([[3], []]);
  expect(discarded.map(({ outcome }) => outcome)).toEqual(["left_out", "left_out"]);
});
test("where fewer users cost as much, as many settings as possible are tried on all", async () => {
  const items = { cost: () => ({ seconds: 10, memoryMb: 1 }) };
  const { best, discarded } = await tuned([placing("a", [3, 4, 0, 1], items)], 55); // 22 s for settings of 10 s
  expect(fittedOn).toEqual([rowsOfAll, rowsOfAll]);
  expect(best[0]).toBe(0);
  expect(discarded.find(({ outcome }) => outcome === "left_out")!.params).toEqual({ place: 1 });
});
test("methods that take less come first, and leave what they do not need to the others", async () => {
  const quick = placing("quick", [0, 1], { cost: () => ({ seconds: 0.1, memoryMb: 1 }) });
  const fit: Method["fit"] = async (...given) => {
    now -= 9.9;
    return await quick.fit(...given);
  };
  await tuned([placing("dear", [0, 1, 2]), { ...quick, fit }], 40); // 15 s for settings of .1 and 10 s
  expect(fittedOn).toHaveLength(1 + 1);
});
test("networks share the time for tuning evenly", async () => {
  const given: number[] = [];
  const { fit: fitAtOnce, ...network } = placing("a", [1, 2, 3, 0], { fillsItsTime: true });
  const fitWithin: Method["fit"] = (data, params, context) => {
    given.push(context.secondsMax);
    now += context.secondsMax - 10;
    return fitAtOnce(data, params, context);
  };
  await tuned([{ ...network, fit: fitWithin }], 700);
  const [first, ...others] = given;
  expect(first).toBeCloseTo(0.45 * 700, 9);
  const forTuning = (700 - first!) / 2;
  expect(others.length).toBe(3);
  for (const seconds of others) expect(seconds).toBeCloseTo(forTuning / 3, 6);
});
test("methods far from the best are not tuned", async () => {
  const { tried } = await tuned([placing("good", [0, 1]), placing("bad", [10, 11])], 1000);
  expect(tried.map(({ method, params }) => [method.name, params.place])).toEqual([
    ["good", 0],
    ["good", 1],
    ["bad", 10],
  ]);
});
test("a setting that fails or needs too much memory is told, and the others go on", async () => {
  const large = {
    cost: (_: unknown, { place }: { place?: number }) => ({ seconds: 10, memoryMb: place === 2 ? 301 : 1 }),
  };
  const { best, discarded } = await tuned([placing("a", [1, 9, 2, 0], large)], 1000);
  expect(best).toEqual([0, 1]);
  expect(discarded.map(({ reason }) => reason)).toEqual([
    "failed: singular",
    expect.stringMatching(/^needs about 301 MB of memory to fit/),
  ]);
});
