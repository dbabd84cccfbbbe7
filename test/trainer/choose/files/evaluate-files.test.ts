import { describe, expect, test } from "vitest";
import { type EvaluateFilesOptions, evaluateFiles } from "../../../../trainer/choose/files/evaluate-files.ts";
import type { TrainAndTest } from "../../../../trainer/choose/files/read-files.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { rowsWhere } from "../../../../trainer/read/dataset/split.ts";
import { ease } from "../../../fixtures/ease.ts";
import { interactionsOf, REPEATED_ITEMS, repeatingUsers } from "../../../fixtures/repeating-users.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const columns = { kind: "guessed", user: "user", item: "item", time: null, label: null } as const;
const whole = twoTastes({ users: 300, items: 40, perUser: 10 });
const splitBy = (isTest: (row: number) => boolean): TrainAndTest => ({
  train: { ...whole, ...rowsWhere(whole, (row) => !isTest(row)) },
  test: rowsWhere(whole, isTest),
  columns,
  rejectedRows: 0,
  warnings: [],
});
const random = seededRandom(5);
const isHeld = Uint8Array.from(whole.items, () => (random() < 0.2 ? 1 : 0));
const log: string[] = [];
const run = (data: TrainAndTest, changes: Partial<EvaluateFilesOptions> = {}) =>
  evaluateFiles(data, {
    protocol: "set",
    methods: { popularity: popularity as Method, ease: ease as Method },
    measureAll: true,
    cutOffs: [5, 10],
    includeSeen: false,
    secondsMax: 60,
    memoryMbMax: 1000,
    budget: { weightBytesMax: 1e7 },
    seed: 1,
    signal: new AbortController().signal,
    clock: () => performance.now() / 1000,
    log: (line) => log.push(line),
    ...changes,
  });

describe("set", () => {
  test("every model with its figures, the chosen first", async () => {
    const { protocol, users, items, models } = await run(splitBy((row) => isHeld[row] === 1));
    expect({ protocol, items }).toEqual({ protocol: "set", items: 40 });
    expect(users).toBeGreaterThan(250);
    expect(models.map(({ name, chosen }) => [name, chosen])).toEqual([
      ["ease", true],
      ["popularity", false],
    ]);
    const names = ["recall", "ndcg", "mrr", "hr", "coverage"].flatMap((name) => [`${name}@5`, `${name}@10`]);
    for (const model of models) {
      expect(Object.keys(model.metrics).sort()).toEqual(names.sort());
      for (const value of Object.values(model.metrics)) expect(value >= 0 && value <= 1).toBe(true);
      expect(model.fit_seconds).toBeGreaterThan(0);
      expect(model.peak_mb).toBeGreaterThan(10);
      expect(model.artifact_bytes).toBeGreaterThan(10);
    }
    expect(models[0]!.metrics["ndcg@10"]).toBeGreaterThan(1.2 * models[1]!.metrics["ndcg@10"]!);
    expect(log.some((line) => line.startsWith("dropped: ease"))).toBe(true);
  });
  test("nothing is learnt from the test part: other targets change no list, only the figures", async () => {
    const data = splitBy((row) => isHeld[row] === 1);
    const other = { ...data, test: { ...data.test, items: data.test.items.map((item) => (item + 1) % 40) } };
    const [one, changed] = [await run(data), await run(other)];
    expect(changed.models.map(({ params }) => params)).toEqual(one.models.map(({ params }) => params));
    expect(changed.models[0]!.metrics["ndcg@10"]).not.toBe(one.models[0]!.metrics["ndcg@10"]);
  });
  test("auto measures the chosen and popularity only", async () => {
    const { models } = await run(
      splitBy((row) => isHeld[row] === 1),
      { measureAll: false },
    );
    expect(models.map(({ name }) => name)).toEqual(["ease", "popularity"]);
  });
});

test("next-item has one target for each user, so recall is the hit rate", async () => {
  const { users, models } = await run(
    splitBy((row) => row % 10 === 9),
    { protocol: "next-item" },
  );
  expect(users).toBe(300);
  expect(models[0]!.metrics["recall@5"]).toBe(models[0]!.metrics["hr@5"]);
});
test("sessions of the test file are new, and every prefix is a case", async () => {
  const data = splitBy((row) => row >= 250 * 10);
  const { users, models } = await run(data, { protocol: "sessions" });
  expect(users).toBe(50 * 9);
  expect(models.find(({ name }) => name === "ease")!.metrics["hr@10"]).toBeGreaterThan(0.2);
});
test("items of a session repeat, in the choice too", async () => {
  const data = splitBy((row) => row >= 250 * 10);
  const sameAgain = (items: Int32Array) => items.map((_, row) => items[row - (row % 10)]!);
  const { train, test } = data;
  log.length = 0;
  const alike = {
    ...data,
    train: { ...train, items: sameAgain(train.items) },
    test: { ...test, items: sameAgain(test.items) },
  };
  expect((await run(alike, { protocol: "sessions" })).users).toBe(50 * 9);
  expect(log.join("\n")).toContain("on 25 users");
});
test("users that only the test file has change nothing but its lists", async () => {
  const fitted: number[] = [];
  const counted: Method = {
    ...(ease as Method),
    fit: (data, params, context) => {
      fitted.push(data.userCount, data.items.length);
      return (ease as Method).fit(data, params, context);
    },
  };
  const methods = { popularity: popularity as Method, ease: counted };
  const fitsOf = async (data: TrainAndTest) => {
    fitted.length = 0;
    const { models } = await run(data, { protocol: "sessions", methods });
    return { fits: [...fitted], params: models.map(({ params }) => params) };
  };
  const more = splitBy((row) => row >= 250 * 10);
  const [userStart, items] = [more.test.userStart.slice(0, 261), more.test.items.slice(0, 100)];
  const cut = { userCount: 260, userStart };
  const fewer = {
    ...more,
    train: { ...more.train, userCount: 260, userStart: more.train.userStart.slice(0, 261) },
    test: {
      ...more.test,
      ...cut,
      items,
      times: more.test.times.slice(0, 100),
      positive: more.test.positive.slice(0, 100),
    },
  };
  expect(await fitsOf(more)).toEqual(await fitsOf(fewer));
});
test("seen items may be shown when they are wanted", async () => {
  const data = splitBy((row) => isHeld[row] === 1);
  const again = { ...data, test: data.train };
  const hidden = await run(again, { measureAll: false });
  const shown = await run(again, { measureAll: false, includeSeen: true });
  expect(hidden.users).toBe(0);
  expect(shown.users).toBe(300);
});

test("where users need things again, lists with seen items have them by their odds, which the train file gives", async () => {
  const all = { ...whole, ...interactionsOf(repeatingUsers(300, 1), REPEATED_ITEMS) };
  const last = (row: number) => all.userStart.findIndex((start) => start > row);
  const isLast = Uint8Array.from(all.items, (_, row) =>
    Number(all.times[row] === all.times[all.userStart[last(row)]! - 1]),
  );
  const split = (held: number) => ({ ...all, ...rowsWhere(all, (row) => isLast[row] === held) });
  const data: TrainAndTest = { train: split(0), test: split(1), columns, rejectedRows: 0, warnings: [] };
  const methods = { popularity: popularity as Method };
  const figures = async (protocol: "next-item" | "set") =>
    (await run(data, { protocol, includeSeen: true, methods })).models[0]!.metrics["ndcg@10"]!;
  expect(await figures("next-item")).toBeGreaterThan(1.1 * (await figures("set")));
  expect(log.findLast((line) => line.includes('seen: "include"'))).toMatch(/ndcg@10 0\.\d+, and 0\.\d+ by the model/);
});

test("a chosen model that cannot be fitted again gives way to the next best", async () => {
  let fits = 0;
  const tried = ease.grid({} as never).length;
  const once: Method = {
    ...(ease as Method),
    // As when the machine has become busy: what was in time before is not now.
    fit: (data, params, context) =>
      ++fits > tried ? Promise.reject(new Error("too late")) : (ease as Method).fit(data, params, context),
  };
  const methods = { popularity: popularity as Method, ease: once };
  const { models, not_measured } = await run(
    splitBy((row) => isHeld[row] === 1),
    { methods, measureAll: false },
  );
  expect(models.map(({ name, chosen }) => [name, chosen])).toEqual([["popularity", true]]);
  expect(not_measured).toEqual([{ name: "ease", reason: "too late" }]);
  expect(log.at(-2)).toBe("not measured: ease: too late");
});

describe("a wanted method is measured if it fits, or listed with the reason", () => {
  const named = (name: string, changes: Partial<Method> = {}): Method => ({ ...(ease as Method), name, ...changes });
  const tooMuch = (seconds: number, memoryMb: number) => ({ cost: () => ({ seconds, memoryMb }) });
  const few = twoTastes({ users: 20, items: 40, perUser: 10 });
  const data: TrainAndTest = {
    ...splitBy(() => false),
    train: { ...few, ...rowsWhere(few, (row) => row % 10 < 8) },
    test: rowsWhere(few, (row) => row % 10 >= 8),
  };
  test("with too few users to choose settings: the first setting", async () => {
    const methods = {
      popularity: popularity as Method,
      ease: ease as Method,
      slow: named("slow", tooMuch(1e6, 1)),
      large: named("large", tooMuch(1, 1e6)),
    };
    const { models, not_measured } = await run(data, { methods });
    expect(models.map(({ name, chosen }) => [name, chosen])).toEqual([
      ["popularity", true],
      ["ease", false],
    ]);
    expect(models[1]!.params).toEqual(ease.grid({} as never)[0]);
    expect(not_measured).toEqual([
      { name: "large", reason: expect.stringMatching(/^it needs about 1000000 MB to fit, and may use 1000 MB/) },
      { name: "slow", reason: expect.stringMatching(/^it needs about 1000000 s to fit, and \d+\.\d s are left/) },
    ]);
    expect((await run(data, { methods, measureAll: false })).not_measured).toEqual([]);
  });
  test("no further model is fitted beyond the time for all models", async () => {
    let seconds = 0;
    const told: number[] = [];
    const all = splitBy((row) => isHeld[row] === 1);
    const long = (name: string) =>
      named(name, {
        fit: (data, params, context) => {
          const isWhole = data.items.length === all.train.items.length;
          if (isWhole) told.push(context.secondsMax);
          seconds += isWhole ? 20 : 0.1;
          return (ease as Method).fit(data, params, context);
        },
      });
    const methods = { popularity: popularity as Method, a: long("a"), b: long("b"), c: long("c"), d: long("d") };
    const { models, not_measured } = await run(all, { methods, clock: () => seconds });
    expect(models.map(({ name }) => name).filter((name) => name !== "popularity")).toHaveLength(3);
    expect(not_measured).toEqual([{ name: expect.stringMatching(/^[abcd]$/), reason: "no time was left for it" }]);
    expect([told.length, told[1]! <= 20, told[2]! <= 20]).toEqual([3, true, true]);
  });
  test("a method that failed in the choice is listed with its error", async () => {
    const faulty = named("faulty", { fit: () => Promise.reject(new Error("no inverse")) });
    const methods = { popularity: popularity as Method, faulty };
    const { not_measured } = await run(
      splitBy((row) => isHeld[row] === 1),
      { methods },
    );
    expect(not_measured).toEqual([{ name: "faulty", reason: "failed: no inverse" }]);
  });
});

describe("users of the test file without train rows", () => {
  const all = tastesByCity({ users: 400, items: 40, perUser: 10 });
  /** The last hundred users are new: all their rows are in the test part, next to two rows of each of the others. */
  const isTest = (row: number) => row >= 300 * 10 || row % 10 >= 8;
  const train = { ...all, ...rowsWhere(all, (row) => !isTest(row)) };
  const runWith = (userAttributes = train.userAttributes) =>
    run(
      { train: { ...train, userAttributes }, test: rowsWhere(all, isTest), columns, rejectedRows: 0, warnings: [] },
      { measureAll: false },
    );
  test("are ranked for by their attributes, next to figures by popularity", async () => {
    const { users_without_history: figures, models } = await runWith();
    expect(figures).toMatchObject({ users: 100, served: true });
    expect(figures!.reason).toMatch(/^Users without a history are ranked for by attributes/);
    expect(figures!.attributes["ndcg@10"]).toBeGreaterThan(1.3 * figures!.popularity["ndcg@10"]!);
    // Models are measured as they would be served, so their figures contain these lists.
    const without = await runWith([]);
    expect(without).not.toHaveProperty("users_without_history");
    expect(models[0]!.metrics["ndcg@10"]).toBeGreaterThan(without.models[0]!.metrics["ndcg@10"]!);
  });
  test("keep the lists by popularity where attributes say nothing", async () => {
    const { users_without_history: figures } = await runWith([train.userAttributes[1]!]);
    expect(figures).toMatchObject({ users: 100, served: false });
    expect(figures!.attributes).toEqual(figures!.popularity);
  });
});
