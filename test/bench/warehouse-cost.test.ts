import { expect, test } from "vitest";
import { warehouseUse } from "./warehouse-cost.ts";

const TABLE = { rows: 1000, rowBytes: 25, sampleRowsMax: 300, recordRowsMax: 400 };
const SENT = [
  { kind: "reasons", resultRows: 0, resultBytes: 0 },
  { kind: "interactions", resultRows: 0.5, resultBytes: 16 },
  { kind: "records", resultRows: 1, resultBytes: 80 },
];
const pace = { store: { reasons: 1, interactions: 2, records: 4 }, slice: 3, read: 10, sort: 5 };
const prices = { perTebibyteRead: 2 ** 40, perSlotHour: 3600e6 };

test("every query reads the table once, and each slice of the records does", () => {
  const use = warehouseUse(TABLE, SENT, { pace, prices });
  expect(use).toMatchObject({ slices: 3, queries: 5, bytesBilled: 5 * 25_000, onDemandDollars: 5 * 25_000 });
  const unsliced = warehouseUse({ ...TABLE, recordRowsMax: 1000 }, SENT, { pace, prices });
  expect(unsliced).toMatchObject({ slices: 1, queries: 3, bytesBilled: 3 * 25_000 });
});

test("slots group every row once, and scan it once more for each further slice", () => {
  const { slotSeconds, slotDollars } = warehouseUse(TABLE, SENT, { pace, prices });
  expect(slotSeconds * 1e6).toBeCloseTo(1000 * (1 + 2 + 4) + 2 * 3000);
  expect(slotDollars).toBeCloseTo(1000 * (1 + 2 + 4) + 2 * 3000);
});

test("the trainer reads a sample that fits into memory, and sorts all records", () => {
  const { trainerSeconds, resultBytesMax } = warehouseUse(TABLE, SENT, { pace, prices });
  expect(trainerSeconds * 1e6).toBeCloseTo(300 * 10 + 1000 * 15);
  expect(resultBytesMax).toBeCloseTo((1000 / 3) * 80);
});
