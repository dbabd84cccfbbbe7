import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { measuredBy, metricsOf, recallOf, shareShown, usersWho } from "../../../trainer/evaluate/measured-lists.ts";
import { SMALL_DETAIL as detail } from "../../fixtures/small-detail.ts";

const onlyC: ReadonlySet<ItemIndex> = new Set([2 as ItemIndex]);

test("metrics of some users' lists, one value a user", () => {
  const values = metricsOf(detail, detail.chosen, Uint32Array.of(0, 1));
  expect([...values.get("recall@1")!]).toEqual([0.5, 0]);
  expect([...values.get("recall@2")!]).toEqual([1, 1]);
});
test("who chose some items, and their recall alone", () => {
  const users = usersWho(detail, onlyC);
  expect([...users]).toEqual([0, 2]);
  expect([...recallOf(detail, detail.chosen, { users, isAsked: onlyC }).get("recall@1")!]).toEqual([0, 1]);
});
test("the share of places, of those that lists have", () => {
  expect(shareShown(detail, detail.chosen, onlyC)).toEqual({ "@1": 1 / 3, "@2": 2 / 5 });
  const none = detail.chosen.map(() => -1);
  expect(shareShown(detail, none, onlyC)).toEqual({ "@1": null, "@2": null });
});
test("means stand inside their intervals", () => {
  const { x } = measuredBy(new Map([["x", Float64Array.of(0, 1, 1, 0)]]), { seed: 1, drawsMax: 800 });
  expect(x!.value).toBe(0.5);
  expect(x!.low).toBeLessThan(0.5);
});
