import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { FormatError } from "../../../../shared/assert.ts";
import type { AttributeColumn } from "../../../../shared/attributes.ts";
import { casesOfSessions, type EvaluationCases } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { encodePacked } from "../../../../trainer/choose/report/packed-value.ts";
import { measureScenario } from "../../../../trainer/choose/scenarios/measure-scenario.ts";
import { decodeReplay, encodeReplay } from "../../../../trainer/choose/scenarios/replay.ts";
import { countRecentChoices } from "../../../../trainer/learn/statistics/recent-choices.ts";
import { smallReplay } from "../../../fixtures/small-replay.ts";

const { signal } = new AbortController();
const { replay, validation, served: original } = smallReplay();
const { historyMax } = original;

test("it has every case with its owner, its newest history and the codes of its user", () => {
  const { cases, served } = decodeReplay(replay);
  const textOf = (of: EvaluationCases, at: number, codes: readonly number[]) => {
    const { items, times, seen, ...rest } = of.caseAt(at);
    const newest = { items: items.slice(-historyMax), times: times.slice(-historyMax) };
    return JSON.stringify({ ...rest, ...newest, seen: [...seen], owner: of.ownerAt(at), codes });
  };
  const { cases: all } = validation.split;
  const expected = Array.from(validation.positions, (at) => textOf(all, at, original.values.codesOf(all.userAt(at)!)));
  const found = Array.from({ length: cases.count }, (_, at) => {
    expect(cases.caseAt(at).items.length).toBeLessThanOrEqual(historyMax);
    return textOf(cases, at, served.values!.codesOf(cases.userAt(at)!));
  });
  expect(found).not.toEqual(expected); // in random order, so that the first ones are a sample
  expect(found.sort()).toEqual(expected.sort());
});

test("cases of sessions keep all that was sent, although the model uses less, and whether items repeat", () => {
  const { split, dataset } = validation;
  const cases = casesOfSessions(dataset, { repeats: false });
  const positions = Uint32Array.from({ length: 50 }, (_, at) => at);
  const served = { ...original, historyMax: 1, values: undefined };
  const bytes = encodeReplay({
    ...{ positions, served, userValues: undefined, itemIdColumn: "item_id", seed: 1 },
    validation: { ...validation, split: { ...split, cases } },
  });
  const { cases: kept } = decodeReplay(bytes);
  expect([kept.sessions, kept.count]).toEqual([{ repeats: false }, 50]);
  const itemsOf = (of: EvaluationCases) => Array.from(positions, (at) => of.caseAt(at).items.join()).sort();
  expect(itemsOf(kept)).toEqual(itemsOf(cases));
  expect(decodeReplay(replay).cases.sessions).toBeUndefined();
});

test("it has the items' attributes and the scores by users' values", () => {
  const { names, served } = decodeReplay(replay);
  expect([...names.attributes!.columns.keys()]).toEqual(["shelf"]);
  expect(served.historyMax).toBe(historyMax);
  expect(served.values!.score([0])).toEqual(original.values.score([0]));
});

test("when the time is up, the figures are of the lists that were made by then", async () => {
  let asked = 0;
  const isTimeUp = () => asked++ > 20;
  const { lists, users, without } = await measureScenario(decodeReplay(replay), { limit: 5 }, { signal, isTimeUp });
  expect(lists).toBeGreaterThan(5);
  expect(lists).toBeLessThan(validation.positions.length);
  expect(users).toBeLessThanOrEqual(lists);
  expect(without["ndcg@5"]!.value).toBeGreaterThan(0);
});

test("a file that is damaged anywhere is refused or gives figures, and nothing else happens", async () => {
  const plain = gunzipSync(replay);
  let refused = 0;
  for (let at = 0; at < 60; at++) {
    const damaged = Uint8Array.from(plain);
    const place = Math.floor((at * plain.length) / 60);
    damaged[place]! ^= 0xff;
    try {
      decodeReplay(gzipSync(damaged));
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0);
  expect(() => decodeReplay(encodePacked("evaluation-replay", { format: 2 }))).toThrow("cannot be read");
});

test("a scenario's strategy is measured; what the held-out items cannot show is left out and named", async () => {
  const measurable = decodeReplay(replay);
  const again = await measureScenario(measurable, { limit: 5, seen: "only" }, { signal });
  expect(again.left_out).toEqual([expect.stringMatching("^/seen")]);
  const newest = await measureScenario(measurable, { limit: 5, strategy: "newest" }, { signal });
  expect(newest.left_out).toEqual([expect.stringContaining("schema.item.created_at")]);
  expect(newest.with).toEqual(newest.without);

  const counts = countRecentChoices(validation.split.train);
  const rising = { ...counts, items: Uint32Array.of(19), counts: counts.counts.slice(0, counts.edgesHours.length - 1) };
  rising.counts.fill(0).fill(200, 0, 8);
  const trendy = encodeReplay({
    ...{ positions: validation.positions, userValues: undefined, itemIdColumn: "item_id", seed: 1 },
    ...{ validation, served: { ...original, recentChoices: rising } },
  });
  const trending = await measureScenario(decodeReplay(trendy), { limit: 5, strategy: "trending" }, { signal });
  expect(trending.left_out).toEqual([]);
  expect(trending.with).not.toEqual(trending.without);

  const added: AttributeColumn = {
    name: "added",
    type: "Timestamp",
    values: Float64Array.from({ length: 20 }, (_, i) => i),
  };
  const dated = encodeReplay({
    ...{ positions: validation.positions, served: original, userValues: undefined, seed: 1 },
    ...{ itemIdColumn: "item_id", itemCreatedAt: "added" },
    validation: { ...validation, dataset: { ...validation.dataset, itemAttributes: [added] } },
  });
  const measured = await measureScenario(decodeReplay(dated), { limit: 5, strategy: "newest" }, { signal });
  expect(measured.left_out).toEqual([]);
  expect(measured.with).not.toEqual(measured.without);
});

test("parts of a scenario that need a value of callers are left out and named; defaults are used", async () => {
  const scenario = {
    limit: 5,
    retrieval: { shelf: { $ne: { $user: "shelf" } } },
    boosts: [{ retrieval: { shelf: { $context: "shelf", default: "none" } }, by: 1 }],
  };
  const figures = await measureScenario(decodeReplay(replay), scenario, { signal });
  expect(figures.left_out).toEqual(["/retrieval needs $user.shelf, which only calls have"]);
  expect(figures.with).toEqual(figures.without);
});

test("rules that refer to stored attributes of the users are measured with each user's own", async () => {
  const scenario = { limit: 5, retrieval: { shelf: { $user: "favourite" } } };
  const figures = await measureScenario(decodeReplay(replay), scenario, { signal });
  expect(figures.left_out).toEqual([]);
  expect(figures.with).not.toEqual(figures.without);
});
