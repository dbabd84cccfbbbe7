import { afterAll, beforeAll, expect, test } from "vitest";
import { nextPart, type PartOptions } from "../../../../trainer/read/dataset/kept-part.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";

let staged: StagedRows;
let tables = 0;
beforeAll(async () => {
  staged = await openStagedRows();
});
afterAll(() => staged.close());

const NOW = 1_700_000_000;
/** The part of a table of one column of times. */
async function partOf(times: string, options: Partial<PartOptions> = {}) {
  const table = await staged.stage(`times_${tables++}`, `SELECT unnest([${times}]) AS t`);
  const { signal } = new AbortController();
  const next = await nextPart(staged.staging, table, {
    timeIndex: 0,
    nowSeconds: NOW,
    overlapSeconds: 100,
    signal,
    ...options,
  });
  return next?.part;
}

test("an overlap before the newest that has happened, in the column's own unit", async () => {
  const whole = (number: bigint, rows: number, times: bigint) => ({
    since: { epochSeconds: NOW - 50 - 100, number },
    before: { rows, times },
  });
  const at = (offset: number, unit = "") => `${NOW + offset}${unit}`;
  const mod = (...numbers: bigint[]) => numbers.reduce((sum, number) => sum + (number % 1_000_003n), 0n);
  // 150 s before is exactly at the bound: not before it. What lies ahead of the present is no newest.
  const seconds = [-50, -150, -151, 9999].map((offset) => at(offset)).join(", ");
  expect(await partOf(seconds)).toEqual(whole(BigInt(NOW - 150), 1, mod(BigInt(NOW - 151))));
  const millis = [-50, -150, -151, 9999].map((offset) => at(offset, "000")).join(", ");
  expect(await partOf(millis)).toEqual(whole(BigInt(NOW - 150) * 1000n, 1, mod(BigInt(NOW - 151) * 1000n)));
  const stamps = [-50, -150, -151, 9999].map((offset) => `make_timestamp(${at(offset)}::BIGINT * 1000000)`);
  expect(await partOf(stamps.join(", "))).toEqual(whole(BigInt(NOW - 150), 1, mod(BigInt(NOW - 151) * 1_000_000n)));
});

test("an overlap longer than the data keeps nothing; times before 1970 are no newest", async () => {
  const keepsNothing = { since: { epochSeconds: 0, number: 0n }, before: { rows: 0, times: 0n } };
  expect(await partOf("5, 7")).toEqual(keepsNothing);
  expect(await partOf("-5, NULL")).toBeUndefined();
});

test("of what was kept before, what it amounted to is taken over, and the bound never goes back", async () => {
  const before = { rows: 7, times: -70n }; // two of the seven are not in the table: erased users' rows
  const earlier = { rows: 2, before, since: { epochSeconds: NOW - 500, number: BigInt(NOW - 500) } };
  const times = `${NOW - 600}, ${NOW - 550}, ${NOW - 400}, ${NOW - 200}, ${NOW}`;
  const added = BigInt(NOW - 400) % 1_000_003n; // of rows 3 to 5 the first two lie before NOW − 100
  expect(await partOf(times, { earlier })).toEqual({
    since: { epochSeconds: NOW - 100, number: BigInt(NOW - 100) },
    before: { rows: 9, times: -70n + added + (BigInt(NOW - 200) % 1_000_003n) },
  });
  expect(await partOf(times, { earlier, overlapSeconds: 1000 })).toEqual({ since: earlier.since, before });
});

test("times whose order is not certain keep nothing", async () => {
  expect(await partOf(`'${NOW}', '2024-01-01'`)).toBeUndefined();
  expect(await partOf(`${NOW}.5::DOUBLE`)).toBeUndefined();
});
