import { expect, test } from "vitest";
import {
  fractionOfPlaces,
  hitsOf,
  maskOf,
  measuredBy,
  metricsOf,
  ownersOf,
  placesOf,
  recallOf,
  usersWho,
  valuesOf,
} from "../../../../trainer/choose/report/measured-lists.ts";
import { SMALL_DETAIL as detail } from "../../../fixtures/small-detail.ts";

const onlyC = maskOf(detail, [2]);

test("metrics of some users' lists, one value a user", () => {
  const values = metricsOf(detail, detail.chosen, Uint32Array.of(0, 1));
  expect([...values.get("recall@1")!]).toEqual([0.5, 0]);
  expect([...values.get("recall@2")!]).toEqual([1, 1]);
});
test("values of some of the users", () => {
  const everybody = metricsOf(detail, detail.chosen, Uint32Array.of(0, 1, 2));
  expect([...valuesOf(everybody, Uint32Array.of(2, 0)).get("recall@1")!]).toEqual([1, 0.5]);
});
test("the users who chose some items, and the recall of these items only", () => {
  const who = usersWho(detail, onlyC);
  expect([[...who.users], [...who.counts]]).toEqual([
    [0, 2],
    [1, 1],
  ]);
  const hits = hitsOf(detail, detail.chosen);
  expect([...recallOf(detail, hits, onlyC, who).get("recall@1")!]).toEqual([0, 1]);
});
test("hits stand where the lists show what was chosen", () => {
  const { start, items, ranks } = hitsOf(detail, detail.chosen);
  expect([[...start], items, ranks]).toEqual([
    [0, 2, 3, 4],
    [0, 2, 1, 2],
    [0, 1, 1, 0],
  ]);
});
test("lists of one user have one owner; each session has its own", () => {
  const owners = ownersOf({ ...detail, users: BigUint64Array.of(5n, 0n, 5n, 0n, 9n) }, [0, 1, 2, 3, 4]);
  expect(owners[0]).toBe(owners[2]);
  expect(new Set(owners).size).toBe(4);
});
test("the fraction of places is taken of the places that lists have", () => {
  expect(fractionOfPlaces(placesOf(detail, detail.chosen, 1), [2])).toBe(1 / 3);
  expect(fractionOfPlaces(placesOf(detail, detail.chosen, 2), [2])).toBe(2 / 5);
  const none = detail.chosen.map(() => -1);
  expect(fractionOfPlaces(placesOf(detail, none, 2), [2])).toBeNull();
});
test("means are inside their intervals, and parts of the same users are drawn together", () => {
  const values = new Map([["x", Float64Array.of(0, 1, 1, 0)]]);
  const [first, second] = measuredBy([values, values], { seed: 1, drawsMax: 800 });
  expect(first!.x!.value).toBe(0.5);
  expect(first!.x!.low).toBeLessThan(0.5);
  expect(second).toEqual(first);
});
