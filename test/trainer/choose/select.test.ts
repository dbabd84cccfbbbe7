import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { type SelectInput, type Selection, selectModel } from "../../../trainer/choose/select.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { popularity } from "../../../trainer/learn/popularity.ts";
import { rowsWhere } from "../../../trainer/read/dataset/split.ts";
import { ease } from "../../fixtures/ease.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 400, items: 60, perUser: 10 });
const methods = { popularity: popularity as Method, ease: ease as Method };
const select = (changes: Partial<SelectInput> = {}): Promise<Selection> =>
  selectModel({
    dataset: shop,
    methods,
    protocol: "service",
    secondsMax: 60,
    memoryMbMax: 1000,
    budget: { weightBytesMax: 1e7 },
    seed: 1,
    signal: new AbortController().signal,
    clock: () => performance.now() / 1000,
    progress: () => {},
    ...changes,
  });

describe("a shop of two tastes", () => {
  let selection: Selection;
  const shares: number[] = [];
  beforeAll(async () => {
    selection = await select({ progress: (share) => shares.push(share) });
  });

  test("is ranked by EASE, popularity is the next best", () => {
    expect(selection.chosen.method).toBe("ease");
    expect(selection.families.map(({ method }) => method)).toEqual(["ease", "popularity"]);
  });
  test("its report is of the published form, and survives JSON", () =>
    expect(EvaluationReport.parse(JSON.parse(JSON.stringify(selection.report)))).toEqual(selection.report));
  test("the chosen is better than popularity by a paired interval, and so is its plain mean", () => {
    const { report } = selection;
    expect(report.lift["ndcg@10"]!.low).toBeGreaterThan(0);
    const [own, popular] = [report.chosen.metrics["ndcg@10"]!, report.popularity.metrics["ndcg@10"]!];
    expect(own.value! - popular.value!).toBeCloseTo(report.lift["ndcg@10"]!.value!, 9);
  });
  test("the report has every candidate: one chosen, the best first, every loser with its reason", () => {
    const { candidates } = selection.report;
    expect(candidates.filter(({ outcome }) => outcome === "chosen").length).toBe(1);
    expect(candidates[0]!.outcome).toBe("chosen");
    expect(candidates.length).toBe(popularity.grid(shop).length + ease.grid(shop).length);
    for (const { reason, fit_seconds } of candidates)
      expect([reason.length > 5, fit_seconds !== null]).toEqual([true, true]);
  });
  test("the split is temporal, and its figures add up", () => {
    const { split } = selection.report;
    expect(split.kind).toBe("temporal");
    expect(split.instant).toMatch(/^2024-/);
    const { train_from, train_to, to } = split.dates!;
    expect([train_from < train_to, train_to < split.instant!, split.instant! <= to]).toEqual([true, true, true]);
    expect(split.validation.users_measured).toBe(split.validation.users);
    expect(selection.report.segments.users.reduce((sum, { users }) => sum + users, 0)).toBe(split.validation.users);
  });
  test("a dozen examples with the customer's item ids, none of them seen", () => {
    const { examples } = selection.report;
    expect(examples.length).toBe(12);
    for (const { history, list, relevant } of examples) {
      expect(list.length).toBe(10);
      expect(relevant.length).toBeGreaterThan(0);
      expect(list.filter((id) => history.includes(id))).toEqual([]);
      for (const id of [...history, ...list]) expect(id).toBeGreaterThanOrEqual(1000);
    }
  });
  test("names no user", () => expect(JSON.stringify(selection.report)).not.toContain("user-"));
  test("progress goes from 0 to 1 and never back", () => {
    expect(shares.at(-1)).toBeCloseTo(1, 6);
    for (const [i, share] of shares.entries()) if (i > 0) expect(share).toBeGreaterThanOrEqual(shares[i - 1]! - 1e-9);
  });
  test("the same data and seed choose the same, with the same figures", async () => {
    const again = await select();
    const timeless = (report: EvaluationReport) =>
      JSON.stringify(report, (key, value: unknown) => (key === "fit_seconds" || key === "seconds" ? 0 : value));
    expect(timeless(again.report)).toBe(timeless(selection.report));
  });
});

test("without tastes popularity stays, and the report has the reason", async () => {
  const { chosen, report } = await select({ dataset: twoTastes({ users: 300, items: 30, perUser: 6, taste: 0.5 }) });
  expect(chosen.method).toBe("popularity");
  const losers = report.candidates.filter(({ method, outcome }) => method === "ease" && outcome === "lost");
  expect(losers[0]!.reason).toContain("not reliably better than popularity");
});

test("a report says how many choices its lists leave out because they repeat", async () => {
  const perUser = 10;
  /** Each user's choices after the first so many are those again. */
  const repeating = (first: number) => ({
    ...shop,
    items: shop.items.map((item, row) => (row % perUser < first ? item : shop.items[row - first]!)),
  });
  const warnings = async (changes: Partial<SelectInput>) => (await select(changes)).report.warnings.join();
  expect(await warnings({ dataset: repeating(7) })).toContain(
    "30 % of the choices are of items that the user had chosen",
  );
  expect(await warnings({ dataset: repeating(7), includeSeen: true })).not.toContain("of the choices");
  expect(await warnings({ dataset: repeating(9) })).not.toContain("of the choices");
});

describe("small data", () => {
  const few = (users: number, perUser: number) => twoTastes({ users, items: 30, perUser, taste: 0.7 });
  test("50 interactions are ranked by popularity, with a warning", async () => {
    for (const [users, perUser] of [
      [5, 10],
      [10, 5],
      [25, 2],
      [50, 1],
    ] as const) {
      const { chosen, report } = await select({ dataset: few(users, perUser) });
      expect(chosen.method).toBe("popularity");
      expect(report.warnings.join(" ")).toContain("interactions");
    }
  });
  test("no user with anything to find: popularity, and figures that are unknown rather than 0", async () => {
    const { chosen, report } = await select({ dataset: few(50, 1) });
    expect(chosen.method).toBe("popularity");
    expect(report.chosen.metrics["ndcg@10"]).toEqual({ value: null, low: null, high: null });
  });
  test("no interaction at all: popularity, and no dates", async () => {
    const { chosen, report } = await select({ dataset: { ...few(2, 1), ...rowsWhere(few(2, 1), () => false) } });
    expect([chosen.method, report.split.dates]).toEqual(["popularity", null]);
  });
});

describe("a network that ranks best, under a clock that its fits advance", () => {
  const choiceWith = async (slowness: number) => {
    let now = 0;
    const taking = (method: Method, own: Partial<Method>, secondsOf: (secondsMax: number) => number): Method => ({
      ...method,
      grid: (data) => method.grid(data).slice(0, 1),
      ...own,
      async fit(data, params, context) {
        now += secondsOf(context.secondsMax);
        await setTimeout(120); // the fit would be stopped now if its time were over
        return await method.fit(data, params, context);
      },
    });
    const cost = (seconds: number) => () => ({ seconds, memoryMb: 1 });
    const plain = { ...(popularity as Method), name: "plain" };
    const network = taking(ease as Method, { fillsItsTime: true, cost: cost(100) }, (secondsMax) => secondsMax);
    const closed = taking(plain, { cost: cost(20) }, () => slowness * 20);
    const { chosen, report } = await select({
      methods: { popularity: popularity as Method, ease: network, plain: closed },
      secondsMax: 600,
      clock: () => now,
    });
    return {
      winner: chosen,
      stopped: report.candidates.filter(({ reason }) => reason.includes("stopped")),
      now,
    };
  };
  test("is never stopped within the budget, and wins on a machine half as fast too", async () => {
    for (const slowness of [1, 2]) {
      const { winner, stopped, now } = await choiceWith(slowness);
      expect(stopped).toEqual([]);
      expect(JSON.stringify(winner)).toContain("ease"); // alone or in a blend
      expect(now).toBeLessThan(600 / 2);
    }
  });
});

describe("the live version", () => {
  const params = { ...ease.grid(shop)[0]!, lambda: 300 };
  test("its settings are tried too, and compared on the same users", async () => {
    const { report } = await select({ live: { method: "ease", params } });
    expect(report.live).toMatchObject({ method: "ease", params });
    const own = report.candidates.find((candidate) => candidate.params.lambda === 300)!;
    expect(report.live!.metrics).toEqual(own.metrics);
    expect(report.live!.lift.value).toBeCloseTo(
      report.chosen.metrics["ndcg@10"]!.value! - own.metrics["ndcg@10"]!.value!,
      9,
    );
  });
  test("a live method that no longer exists is named in a warning", async () => {
    const { report } = await select({ live: { method: "oracle", params: {} } });
    expect(report.live).toBeNull();
    expect(report.warnings.join()).toContain('"oracle" is not known any more');
    const params = { "0.ease.share": 1, "0.ease.lambda": 3, "1.oracle.share": 1 };
    const blended = await select({ live: { method: "blend", params } });
    expect([blended.chosen.method, blended.report.live]).toEqual(["ease", null]);
    expect(blended.report.warnings.join()).toContain('"oracle", a part of its blend, is not known any more');
  });
});

test("the half-life that fits is found: taste for what is new decides the catalog order", async () => {
  const weekly = twoTastes({ users: 400, items: 60, perUser: 4 });
  const random = seededRandom(3);
  // An item is chosen within ten days of its own moment, three items a day later than the next three.
  const times = Uint32Array.from(weekly.items, (item) => 1_700_000_000 + 86_400 * (item / 3 + 10 * random()));
  const sorted = sortedByTime({ ...weekly, times });
  const { halfLifeDays } = await select({ dataset: sorted, methods: { popularity: popularity as Method } });
  expect(halfLifeDays).toBeGreaterThan(0);
  expect(halfLifeDays).toBeLessThanOrEqual(30);
});

test("the catalog order of the customer's data cannot help, because the split ignores it", async () => {
  const reversed = { ...shop, items: shop.items.map((item) => 59 - item) };
  const [one, other] = [await select(), await select({ dataset: { ...reversed, itemIds: shop.itemIds } })];
  expect(other.chosen).toEqual(one.chosen);
});

test("an aborted selection ends with the run's reason", () =>
  expect(select({ signal: AbortSignal.abort(new Error("deleted")) })).rejects.toThrow("deleted"));
test("without popularity there is nothing to compare with", () =>
  expect(select({ methods: { ease: ease as Method } })).rejects.toThrow("must have popularity"));

function sortedByTime(data: typeof shop): typeof shop {
  const items = data.items.slice();
  const times = data.times.slice();
  for (let user = 0; user < data.userCount; user++) {
    const rows = Array.from(
      { length: data.userStart[user + 1]! - data.userStart[user]! },
      (_, i) => data.userStart[user]! + i,
    );
    rows.sort((a, b) => data.times[a]! - data.times[b]!);
    for (const [i, row] of rows.entries()) {
      items[data.userStart[user]! + i] = data.items[row]!;
      times[data.userStart[user]! + i] = data.times[row]!;
    }
  }
  return { ...data, items, times };
}

test("with too many interactions for the memory, methods are compared on a sample; the report has both sizes", async () => {
  const { chosen, report } = await select({
    dataset: twoTastes({ users: 4000, items: 60, perUser: 10 }),
    memoryMbMax: 4.5, // 22,500 interactions of 40,000
    methods: {
      popularity: popularity as Method,
      ease: { ...(ease as Method), cost: () => ({ seconds: 1, memoryMb: 1 }) },
    },
  });
  expect(chosen.method).toBe("ease");
  expect(report.data.interactions).toBe(40_000);
  expect(report.split.train.interactions).toBeLessThan(25_000);
  expect(report.warnings.join()).toMatch(/compared on \d+ of 4000 users/);
});

test("a half-life that is only luckier than none is not taken", async () => {
  const halfLives: number[] = [];
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    // Times say nothing here: whatever half-life fits best does so by chance.
    const dataset = twoTastes({ users: 120, items: 60, perUser: 4, seed });
    halfLives.push((await select({ dataset, methods: { popularity: popularity as Method } })).halfLifeDays);
  }
  expect(halfLives).toEqual([0, 0, 0, 0, 0, 0]);
});

test("with little time more than one method is tried, on few users", async () => {
  const tried: string[] = [];
  const watched = (name: string): Method => ({
    ...(ease as Method),
    name,
    fit: (...args) => {
      tried.push(name);
      return (ease as Method).fit(...args);
    },
  });
  const { report } = await select({
    dataset: twoTastes({ users: 2400, items: 30, perUser: 5 }),
    methods: { popularity: popularity as Method, first: watched("first"), second: watched("second") },
    secondsMax: 6,
    clock: () => 0, // on a busy machine, six seconds end before the second method
  });
  expect(new Set(tried)).toEqual(new Set(["first", "second"]));
  const losers = report.candidates.filter(({ outcome }) => outcome === "dropped").map(({ reason }) => reason);
  expect(losers.length).toBeGreaterThan(0);
  expect(losers.filter((reason) => !/ on (500|998) users/.test(reason))).toEqual([]);
});
