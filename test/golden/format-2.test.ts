import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import { countsIn } from "../../shared/item-counts.ts";
import { decodeItemHours } from "../../shared/item-hours.ts";
import { FORMATS_READ, Manifest } from "../../shared/manifest.ts";
import { decodeRecentChoices } from "../../shared/recent-choices.ts";
import { decodeRepeatIntervals } from "../../shared/repeat-intervals.ts";
import { decodeSimilarity } from "../../shared/similarity.ts";
import { decodeTogether } from "../../shared/together.ts";
import { decodeUserValues } from "../../shared/user-values.ts";
import { decodeUserRecords } from "../fixtures/user-page.ts";
import {
  CHOICES,
  COUNTS,
  format2Files,
  HOURS,
  ITEM_COUNT,
  ODDS,
  REPEATS,
  SIMILARITY,
  USERS,
  WEIGHTS,
} from "./format-2.ts";

const folder = new URL("format-2/", import.meta.url).pathname;
const frozen = (name: string) => new Uint8Array(readFileSync(folder + name));

test("today's writers produce the frozen bytes: other bytes need another format number", async () => {
  const files = await format2Files();
  expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort());
  for (const [name, bytes] of files)
    expect([name, Buffer.from(bytes).toString("base64")]).toEqual([name, Buffer.from(frozen(name)).toString("base64")]);
});

test("user-page.bin", () => {
  const read = [...decodeUserRecords(frozen("user-page.bin"), ITEM_COUNT)];
  expect(read.map(({ hash }) => hash)).toEqual(USERS.map(({ hash }) => hash));
  for (const [u, { record }] of read.entries()) {
    const { items, times, seen, values = [] } = USERS[u]!.content;
    expect([record.items, record.times, record.values]).toEqual([items, times, values]);
    for (let item = 0; item < ITEM_COUNT; item++)
      expect(record.hasSeen(item as ItemIndex)).toBe(Array.from(seen).includes(item));
  }
});

test("user-values.bin", () => {
  const { score } = decodeUserValues(frozen("user-values.bin"));
  const rounded = (codes: number[]) => [...score(codes)].map((value) => Math.round(value * 100) / 100);
  expect(rounded([])).toEqual([-1, -1.5, -2, -4, -4]);
  expect(rounded([0])).toEqual([-1.5, -1.5, -0.73, -3.75, -4]);
  expect(rounded([0, 1])).toEqual([-1.5, -0.7, -1.53, -3.65, -4]);
});

test("similarity.bin", () => {
  const similarity = decodeSimilarity(frozen("similarity.bin"));
  expect(similarity).toMatchObject({ itemCount: ITEM_COUNT, knownCount: SIMILARITY.knownCount });
  const lifts = Float32Array.of(3, 1, 4, 1, 1);
  similarity.toLifts(lifts);
  expect([...lifts].map((lift) => Math.round(lift * 100) / 100)).toEqual([-1.73, -3.99, 1.74, 0.66, 3.55]);
});

test("item-counts.bin", () => {
  for (const [item, interactions] of COUNTS.interactions.entries())
    expect(countsIn(frozen("item-counts.bin"), item as ItemIndex)).toEqual({
      interactions,
      positives: COUNTS.positives[item],
    });
});

test("recent-choices.bin", () => {
  expect(decodeRecentChoices(frozen("recent-choices.bin"))).toEqual(CHOICES);
});

test("item-hours.bin", () => {
  expect(decodeItemHours(frozen("item-hours.bin"))).toEqual(HOURS);
});

test("together.bin", () => {
  const { itemCount, forEachOther } = decodeTogether(frozen("together.bin"));
  const rowOf = (item: number) => {
    const row: number[][] = [];
    forEachOther(item as ItemIndex, (other, strength) => row.push([other, Math.round(strength * 100) / 100]));
    return row;
  };
  expect(itemCount).toBe(ITEM_COUNT);
  expect([0, 1, 2, 3, 4].map(rowOf)).toEqual([
    [
      [2, 2],
      [4, 0.5],
    ],
    [],
    [[0, 0.13]],
    [],
    [],
  ]);
});

test.each(["repeat-intervals.bin", "repeat-intervals-weighted.bin", "repeat-intervals-odds.bin"])(
  "%s: intervals",
  (name) => {
    const { daysOf, itemCount } = decodeRepeatIntervals(frozen(name));
    expect(itemCount).toBe(ITEM_COUNT);
    expect([0, 1, 2, 3, 4].map((item) => daysOf(item as ItemIndex))).toEqual([30, 7.5, 30, 30, 0.25]);
  },
);

test("repeat-intervals-weighted.bin: rates and weights, which earlier files lack", () => {
  const { rateOf, weights } = decodeRepeatIntervals(frozen("repeat-intervals-weighted.bin"));
  expect([0, 1, 2, 3, 4].map((item) => rateOf(item as ItemIndex))).toEqual([0.0625, 0.5, 0.0625, 0.0625, 0.125]);
  expect(weights).toEqual([...REPEATS.weights, 0, 0]);
  expect(decodeRepeatIntervals(frozen("repeat-intervals.bin")).weights).toBeUndefined();
});

test("repeat-intervals-odds.bin: odds against new items, which earlier files lack", () => {
  expect(decodeRepeatIntervals(frozen("repeat-intervals-odds.bin"))).toMatchObject({
    weights: WEIGHTS,
    odds: ODDS,
  });
  expect(decodeRepeatIntervals(frozen("repeat-intervals-weighted.bin")).odds).toBeUndefined();
});

test("the manifest is read as it was written", () => {
  const manifest = JSON.parse(Buffer.from(frozen("manifest.json")).toString()) as unknown;
  expect(Manifest.parse(manifest)).toEqual(manifest);
  expect(FORMATS_READ).toContain(Manifest.parse(manifest).format);
});
