import { beforeAll, describe, expect, test } from "vitest";
import type { EvaluationReport } from "../../../../shared/evaluation-report.ts";
import { gate } from "../../../../trainer/choose/decide/gate.ts";
import { selectModel } from "../../../../trainer/choose/select.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { ease } from "../../../fixtures/ease.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

let good: EvaluationReport;
beforeAll(async () => {
  const { report } = await selectModel({
    dataset: twoTastes({ users: 300, items: 40, perUser: 8 }),
    methods: { popularity: popularity as Method, ease: ease as Method },
    protocol: "service",
    secondsMax: 60,
    memoryMbMax: 1000,
    budget: { weightBytesMax: 1e7 },
    seed: 1,
    signal: new AbortController().signal,
    clock: () => 0,
    progress: () => {},
  });
  good = report;
});
const interval = (value: number, spread = 0.01) => ({ value, low: value - spread, high: value + spread });
const withData = (report: EvaluationReport, data: Partial<EvaluationReport["data"]>): EvaluationReport => ({
  ...report,
  data: { ...report.data, ...data },
});

test("a first version that is better than popularity passes, with its lead in the notes", () => {
  const verdict = gate(good, undefined);
  expect(verdict).toMatchObject({ pass: true, reasons: [] });
  expect(verdict.notes.join()).toMatch(/ndcg@10 differs from popularity's by \+0\.\d{4}/);
});

describe("the data floor", () => {
  test("no positive interaction", () =>
    expect(gate(withData(good, { items: 0, positives: 0 }), undefined)).toMatchObject({
      pass: false,
      reasons: ["There is no positive interaction to learn from."],
    }));
});

test("a single positive is enough, also when what is learnt from has fewer", () => {
  const tiny = withData(good, { items: 1, positives: 1 });
  expect(gate({ ...tiny, split: { ...tiny.split, train: { ...tiny.split.train, items: 0 } } }, undefined).pass).toBe(
    true,
  );
});

describe("against popularity", () => {
  test("a worse model is refused", () => {
    const verdict = gate({ ...good, lift: { "ndcg@10": interval(-0.02) } }, undefined);
    expect(verdict.reasons).toEqual(["The ease model is no better than popularity: its ndcg@10 differs by −0.0200."]);
  });
  test("popularity itself passes", () => {
    const plain = { ...good, chosen: { ...good.chosen, method: "popularity" }, lift: { "ndcg@10": interval(0, 0) } };
    expect(gate(plain, undefined)).toMatchObject({ pass: true });
  });
});

describe("against the live version", () => {
  const tried = (difference: ReturnType<typeof interval>): EvaluationReport => ({
    ...good,
    live: { method: "ease", params: {}, metrics: {}, lift: difference },
  });
  test("worse beyond doubt on the same users is refused, in words", () => {
    const verdict = gate(tried(interval(-0.05)), good);
    expect(verdict.pass).toBe(false);
    expect(verdict.reasons[0]).toContain("is worse than the live version's ease on the same users");
    expect(verdict.reasons[0]).toContain("−0.0500 (−0.0600 to −0.0400)");
  });
  test("a little worse, within the doubt, passes", () => expect(gate(tried(interval(-0.005)), good).pass).toBe(true));
  test("better passes, and the notes say by how much", () =>
    expect(gate(tried(interval(0.03)), good).notes.join()).toContain("+0.0300"));
  test("a live method that could not be tried is noted", () => {
    const verdict = gate({ ...good, live: null }, { ...good, chosen: { ...good.chosen, method: "oracle" } });
    expect(verdict.pass).toBe(true);
    expect(verdict.notes.join()).toContain("oracle could not be tried on the new data, so it was not compared");
  });
  test("popularity does not replace a personal version that could not be tried", () => {
    const popular = { ...good, chosen: { ...good.chosen, method: "popularity" }, live: null };
    const verdict = gate(popular, good);
    expect(verdict.pass).toBe(false);
    expect(verdict.reasons[0]).toContain("the live version's ease could not be tried within the time and memory");
    expect(gate(popular, popular)).toMatchObject({ pass: true });
    expect(gate({ ...popular, live: tried(interval(0.01)).live }, good)).toMatchObject({ pass: true });
    expect(gate(popular, undefined)).toMatchObject({ pass: true });
  });
  test("data that have shrunk by more than half are noted", () => {
    const before = withData(good, { items: good.data.items * 3 });
    expect(gate(good, before).notes.join()).toContain("The data have shrunk");
    expect(gate(good, good).notes.join()).not.toContain("shrunk");
  });
});

describe("sources", () => {
  const withSources = (rows: number, attributes: Record<string, number>, digest = "a"): EvaluationReport => ({
    ...good,
    sources: { interactions: { digest, rows: 1000 }, items: { digest, rows, attributes } },
  });
  let before: EvaluationReport; // `good` exists once the tests run
  beforeAll(() => {
    before = withSources(100, { price: 90, note: 0 });
  });
  test("half of the rows is enough, less is refused with a code", () => {
    expect(gate(withSources(50, { price: 1 }), before)).toMatchObject({ pass: true });
    const verdict = gate(withSources(49, { price: 49 }), before);
    expect(verdict).toMatchObject({ pass: false, codes: ["source_shrunken"] });
    expect(verdict.reasons).toEqual(["The source of items has 49 rows, and had 100 when the live version was made."]);
  });
  test("an attribute without any value is refused, also when its column is gone", () => {
    const reason = 'No row of the source of items has a value of "price" any more.';
    for (const attributes of [{ price: 0, note: 0 }, {}])
      expect(gate(withSources(100, attributes), before)).toMatchObject({
        codes: ["source_shrunken"],
        reasons: [reason],
      });
  });
  test("an ignored loss is a note, and another fault is still one", () => {
    const verdict = gate(withSources(1, {}), before, ["source_shrunken"]);
    expect(verdict).toMatchObject({ pass: true, reasons: [] });
    expect(verdict.notes.join()).toContain("Ignored by the call: The source of items has 1 rows");
    const worse = { ...withSources(1, {}), lift: { "ndcg@10": interval(-0.02) } };
    expect(gate(worse, before)).not.toHaveProperty("codes");
    expect(gate(worse, before).reasons).toHaveLength(3);
  });
  test("another source, or a report without facts, is not compared", () => {
    expect(gate(withSources(1, {}, "b"), before)).toMatchObject({ pass: true });
    expect(gate(withSources(1, {}), good)).toMatchObject({ pass: true });
  });
});
