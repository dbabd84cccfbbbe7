import { expect, test } from "vitest";
import { createLeasesByHolder } from "../../../edge/admission/leases-by-holder.ts";

test("leases are counted and weighed in all and of each holder, until they end or their time is over", () => {
  const leases = createLeasesByHolder(1000);
  const end = leases.take("acme", 0);
  leases.take("acme", 1, 7);
  leases.take("bolt", 2, 2);
  const told = (nowMs: number) => [
    [leases.count(nowMs), leases.weight(nowMs)],
    ...["acme", "bolt", "nobody"].map((holder) => [leases.countOf(holder, nowMs), leases.weightOf(holder, nowMs)]),
  ];
  expect(told(2)).toEqual([
    [3, 10],
    [2, 8],
    [1, 2],
    [0, 0],
  ]);
  end();
  end();
  expect(told(2)).toEqual([
    [2, 9],
    [1, 7],
    [1, 2],
    [0, 0],
  ]);
  expect(told(1001)).toEqual([
    [1, 2],
    [0, 0],
    [1, 2],
    [0, 0],
  ]);
});

test("of many holders those without a lease are forgotten, the others are not", () => {
  const leases = createLeasesByHolder(10_000);
  leases.take("acme", 0, 3);
  for (let i = 0; i < 3000; i++) {
    const end = leases.take(`holder-${i}`, 0);
    expect(leases.countOf(`holder-${i}`, 0)).toBe(1);
    end();
  }
  expect([leases.weightOf("acme", 0), leases.count(0)]).toEqual([3, 1]);
});
