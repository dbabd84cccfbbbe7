import { describe, expect, test } from "vitest";
import { type Protocol, planSplit, splitFingerprint } from "../../../../trainer/choose/splits/choose-split.ts";
import { reorderItems } from "../../../../trainer/read/dataset/reorder-items.ts";
import { ordersOf } from "../../../fixtures/orders.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 600, items: 40, perUser: 8 });
const planned = (data = shop, protocol: Protocol = "service") =>
  planSplit(data, { protocol, seed: 1, includeSeen: false });

describe("service", () => {
  test("times of everybody's own: one instant, nothing after it is learnt from", () => {
    const split = planned()(shop);
    expect(split.kind).toBe("temporal");
    expect(split.train.times.every((time) => time < split.instantSeconds!)).toBe(true);
    const share = 1 - split.train.items.length / shop.items.length;
    expect(share).toBeGreaterThan(0.05);
    expect(share).toBeLessThanOrEqual(0.2);
  });
  test("everybody begins at the same moment: times tell nothing between users", () => {
    const numbered = twoTastes({ users: 600, items: 40, perUser: 8, timeOf: (_, r) => 1_400_000_000 + 86_400 * r });
    const split = planned(numbered)(numbered);
    expect(split.kind).toBe("leave-last-out");
    expect(split.reason).toContain("600 of 600 users begin at the same moment");
    expect(split.reason).toContain("up to 5 choices of each are held out");
    expect(split.cases.count).toBe(600 * 2); // a quarter of eight
  });
  test("each user comes once and is gone: too few with a before and an after", () => {
    const visits = twoTastes({
      users: 600,
      items: 40,
      perUser: 8,
      timeOf: (user, r) => 1_400_000_000 + 86_400 * user + r,
    });
    const split = planned(visits)(visits);
    expect(split.kind).toBe("leave-last-out");
    expect(split.reason).toMatch(/only \d users have choices both before and after/);
  });
  test("very many users who begin at moments of their own", () => {
    const many = twoTastes({
      users: 200_000,
      items: 4,
      perUser: 2,
      timeOf: (user, r) => 1_000_000_000 + user + 9e8 * r,
    });
    expect(planned(many)(many).reason).not.toContain("begin at the same moment");
  });
  test("no data: nothing to judge, and no fault", () => {
    const nobody = twoTastes({ users: 0, items: 2, perUser: 0 });
    expect(planned(nobody)(nobody).cases.count).toBe(0);
  });
});

test("next-item: the newest of each user, and of few users more than one", () => {
  const split = planned(shop, "next-item")(shop);
  expect(split.kind).toBe("leave-last-out");
  expect(split.train.items.length).toBe(600 * 6);
  const many = twoTastes({ users: 3000, items: 40, perUser: 8 });
  expect(planned(many, "next-item")(many).train.items.length).toBe(3000 * 7);
});
describe("data in orders", () => {
  const data = ordersOf(Array.from({ length: 3000 }, () => [[0, 1], [2], [3, 4, 5]]));
  const splitOf = (protocol: Protocol, orders = data) =>
    planSplit(orders, { protocol, seed: 1, includeSeen: false })(orders);
  test("next-item: the newest order of each user", () => {
    const split = splitOf("next-item");
    expect(split.reason).toBe(
      "The newest choice of each user is held out. Several items have one time, so that a choice is a whole order.",
    );
    expect(split.train.items.length).toBe(3000 * 3);
    expect(split.cases.caseAt(0).relevant).toEqual([3, 4, 5]);
  });
  test("live: each later order of a user", () => {
    const times = data.times.map((time, row) => time + 100 * Math.floor(row / 6));
    const { kind, cases } = splitOf("live", { ...data, times });
    expect(kind).toBe("temporal");
    const relevant = Array.from({ length: cases.count }, (_, at) => cases.caseAt(at).relevant);
    expect(relevant.length).toBeGreaterThan(300);
    expect(relevant.every((items) => [[0, 1], [2], [3, 4, 5]].some((order) => order.join() === items.join()))).toBe(
      true,
    );
  });
});
test("set: a tenth of the interactions, by chance", () => {
  const split = planned(shop, "set")(shop);
  expect(split.kind).toBe("held-out");
  expect(1 - split.train.items.length / 4800).toBeCloseTo(0.1, 1);
});
test("sessions: the newest tenth, whole, every prefix", () => {
  const visits = twoTastes({
    users: 100,
    items: 40,
    perUser: 8,
    timeOf: (user, r) => 1_400_000_000 + 86_400 * user + r,
  });
  const split = planned(visits, "sessions")(visits);
  expect(split.train.items.length).toBe(90 * 8);
  expect(split.cases.count).toBe(10 * 7);
  expect(split.cases.sessions).toEqual({ repeats: false });
  const again = planSplit(visits, { protocol: "sessions", seed: 1, includeSeen: true })(visits);
  expect(again.cases.sessions).toEqual({ repeats: true });
  expect(Math.max(...split.train.times)).toBeLessThan(split.cases.caseAt(0).nowSeconds);
});

test.each(["service", "live", "next-item", "set", "sessions"] as const)(
  "%s: the same rows under another catalog order",
  (protocol) => {
    const order = Int32Array.from({ length: 40 }, (_, i) => 39 - i);
    const plan = planned(shop, protocol);
    const [one, other] = [plan(shop), plan(reorderItems(shop, order))];
    expect([...other.train.times]).toEqual([...one.train.times]);
    expect([...other.train.items]).toEqual(Array.from(one.train.items, (item) => 39 - item));
    expect(other.cases.caseAt(3).relevant).toEqual(one.cases.caseAt(3).relevant.map((item) => 39 - item));
  },
);

test("a fingerprint tells splits and data apart", () => {
  const prints = [
    splitFingerprint(shop, planned()(shop)),
    splitFingerprint(shop, planned(shop, "next-item")(shop)),
    splitFingerprint({ ...shop, times: shop.times.map((time) => time + 1) }, planned()(shop)),
  ];
  expect(new Set(prints).size).toBe(3);
  expect(splitFingerprint(shop, planned()(shop))).toBe(prints[0]);
});
