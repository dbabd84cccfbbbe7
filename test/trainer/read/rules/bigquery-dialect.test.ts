import { afterAll, beforeAll, expect, test } from "vitest";
import type { Label } from "../../../../shared/label.ts";
import { bigqueryStore, bothReadings, type Store } from "../../../fixtures/pushdown-stores.ts";

let store: Store;
beforeAll(async () => {
  store = await bigqueryStore();
});
afterAll(() => store.stop());

const BINARY: Label = { type: "Binary", name: "l" };
const RATING: Label = { type: "Rating", name: "l", positive_from: 4.1 };
/** The BigQuery stand-in runs this in DuckDB, so literals are DuckDB's. */
const rows = (casts: string, values: readonly string[]) =>
  `SELECT ${casts} FROM (VALUES ${values.map((value) => `(${value})`).join(", ")}) AS v(u, i, t, l)`;

test.each<[string, Label, string]>([
  [
    "NUMERIC ids, DATETIME and words",
    BINARY,
    rows("CAST(u AS DECIMAL(10, 2)) AS u, i, CAST(t AS DATETIME) AS t, l", [
      "'1.50', 'i', '2024-02-29 12:00:00.999999', 'yes'",
      "'1.5', 'i', '2024-02-29 12:00:00.1', 'NO'",
      "'2', 'j', '1969-12-31 23:59:59.5', '1'",
      "'2', 'j', NULL, '1'",
      "'3', 'j', '2024-01-01', 'perhaps'",
      "'3', 'k', '2024-01-01', 't'",
    ]),
  ],
  [
    "DATE, a NUL in an id, BOOL ids",
    BINARY,
    rows("u || chr(0) || u AS u, CAST(i AS BOOLEAN) AS i, CAST(t AS DATE) AS t, CAST(l AS BIGINT) AS l", [
      "'a', 'true', '2024-01-01', '1'",
    ]) +
      " UNION ALL " +
      rows("u, CAST(i AS BOOLEAN) AS i, CAST(t AS DATE) AS t, CAST(l AS BIGINT) AS l", [
        "'a', 'true', '2024-01-01', '1'",
        "'b', 'false', '2024-01-01', '0'",
      ]),
  ],
  [
    "FLOAT64 times and ratings, not all finite",
    RATING,
    rows("u, i, CAST(t AS DOUBLE) AS t, CAST(l AS DOUBLE) AS l", [
      "'a', 'i', '1000.5', '4.1'",
      "'b', 'j', '1000.9', '4.0999'",
      "'b', 'k', 'nan', '5'",
      "'b', 'k', '1e300', '5'",
      "'b', 'k', '5', 'nan'",
      "'b', 'k', '5', 'inf'",
      "'b', 'k', '-0.5', '5'",
    ]),
  ],
  [
    "NUMERIC ratings, and milliseconds",
    RATING,
    rows("u, i, CAST(t AS BIGINT) AS t, CAST(l AS DECIMAL(10, 3)) AS l", [
      "'a', 'i', '1000', '4.10'",
      "'b', 'j', '1000', '4.099'",
      "'b', 'k', '-5', '5'",
    ]),
  ],
  [
    "ratings that are texts, with every kind of space around them",
    RATING,
    rows("u, i, CAST(t AS BIGINT) AS t, l", [
      "'a', 'i', '1000', chr(9) || '5' || chr(13) || chr(10)",
      "'b', 'j', '1000', chr(11) || ' 4' || chr(12)",
      "'b', 'k', '1000', '4 5'",
      "'b', 'k', '1000', chr(9)",
    ]),
  ],
])("the dialect and the trainer read the same interactions: %s", async (_, label, query) => {
  const { prepared, own } = await bothReadings(store, query, label);
  expect(prepared).toEqual(own);
  expect(prepared.facts.length).toBeGreaterThanOrEqual(2);
});
