import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Label } from "../../../../shared/label.ts";
import { findPostgres } from "../../../fixtures/postgres-server.ts";
import { bothReadings, postgresStore, type Store } from "../../../fixtures/pushdown-stores.ts";

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");
const BINARY: Label = { type: "Binary", name: "l" };
const RATING: Label = { type: "Rating", name: "l", positive_from: 4.1 };
const T = 1_700_000_000;

describe.skipIf(!bin)("on a real server, the dialect and the trainer read the same interactions", () => {
  let store: Store;
  beforeAll(async () => {
    store = await postgresStore(bin!);
  }, 30_000);
  afterAll(() => store.stop());

  /** A query of these rows, and of acceptable rows of two users and items. */
  const rows = (casts: string, values: readonly string[], good: string) =>
    `SELECT ${casts} FROM (VALUES ${good}, ${values.map((value) => `(${value})`).join(", ")}) AS v(u, i, t, l)`;

  test.each<[string, Label, string, string[], string]>([
    [
      "char(n) loses its padding, and numeric the zeros at its end",
      BINARY,
      "u::char(4) AS u, i::numeric AS i, t::bigint AS t, l::int AS l",
      ["'a', '1.50', 5, 1", "'a', '1.5', 5, 1", "'a  ', '100', 5, 0", "NULL, '1', 5, 1"],
      `('b', '2', '5', '1'), ('c', '3', '5', '1')`,
    ],
    [
      "uuid and boolean ids",
      BINARY,
      "u::uuid AS u, i::boolean AS i, t::bigint AS t, l::boolean AS l",
      ["'5D2D0A5E-6F0C-4D3E-8A57-0A4F7B1F5C11', 't', 5, 'f'", "NULL, 'f', 5, 't'"],
      `('00000000-0000-0000-0000-000000000001', 't', '5', 't'), ('00000000-0000-0000-0000-000000000002', 'f', '5', 't')`,
    ],
    [
      "infinite times and years before 1 are missing",
      BINARY,
      "u AS u, i AS i, t::timestamp AS t, l::smallint AS l",
      [
        "'a', 'i', 'infinity', 1",
        "'a', 'i', '-infinity', 1",
        "'a', 'i', '0044-03-15 BC', 1",
        "'a', 'i', '1969-12-31 23:59:59.9', 1",
        "'a', 'i', '2200-01-01', 1",
      ],
      `('b', 'i', '2024-02-29 12:00:00.999999', '1'), ('c', 'j', '2024-01-01', '0')`,
    ],
    [
      "dates, and words for labels",
      BINARY,
      "u AS u, i AS i, t::date AS t, l AS l",
      [
        "'a', 'i', '2024-01-01', 'Yes'",
        "'a', 'j', '2024-01-01', E'\\tyes'",
        "'a', 'k', '2024-01-01', U&'\\00A0no\\3000'",
        "'a', 'k', 'infinity', ''",
      ],
      `('b', 'i', '2024-02-29', 'TRUE'), ('c', 'j', '2024-01-01', 't')`,
    ],
    [
      "labels that are numeric",
      BINARY,
      "u AS u, i AS i, t::bigint AS t, l::numeric AS l",
      ["'a', 'i', '5', '1.00'", "'a', 'j', '5', '0.0'", "'a', 'k', '5', '10.0'", "'a', 'l', '5', '0.5'"],
      `('b', 'i', '5', '1.000'), ('c', 'j', '5', '0.00')`,
    ],
    [
      "reals are read by their shortest digits, and infinite ones are no labels",
      RATING,
      "u AS u, i AS i, t::float4 AS t, l::float4 AS l",
      [
        "'a', 'i', '1000.5', '4.1'",
        "'a', 'j', '1000.5', '4.0999'",
        "'a', 'k', 'NaN', '5'",
        "'a', 'k', '1', 'NaN'",
        "'a', 'k', '1', '-Infinity'",
        "'a', 'k', '1e30', '5'",
        "'a', 'k', '-0.5', '5'",
      ],
      `('b', 'i', '1000', '5'), ('c', 'j', '2000', '3')`,
    ],
    [
      "ratings that are numeric, and milliseconds among seconds",
      RATING,
      "u AS u, i AS i, t::bigint AS t, l::numeric AS l",
      [
        `'a', 'i', ${T}, '4.10'`,
        `'a', 'j', ${T}, '4.09999999999999999999'`,
        `'a', 'k', '-1', '5'`,
        `'a', 'l', ${T}, NULL`,
        `'a', 'm', ${T}, 'NaN'`,
      ],
      `('b', 'i', '${T}', '5'), ('c', 'j', '${T}', '3')`,
    ],
    [
      "ratings that are texts, with every kind of space around them",
      RATING,
      "u AS u, i AS i, t::bigint AS t, l AS l",
      [
        "'a', 'i', '5', E'\\t5\\r\\n'",
        "'a', 'j', '5', E'\\x0b 4\\f'",
        "'a', 'k', '5', '4 5'",
        "'a', 'k', '5', E'\\t'",
        "'a', 'k', '5', U&'5\\00A0'",
      ],
      `('b', 'i', '5', '5'), ('c', 'j', '5', '3')`,
    ],
  ])("%s", async (_, label, casts, values, good) => {
    const texts = values.map((value) => value.replace(/(?<=, |^)(-?\d+)(?=,|$)/g, "'$1'"));
    const { prepared, own } = await bothReadings(store, rows(casts, texts, good), label);
    expect(prepared).toEqual(own);
    expect(prepared.facts.length).toBeGreaterThanOrEqual(2);
  });

  test("ids that a collation takes for equal stay different", async () => {
    const query = `SELECT u COLLATE any_case AS u, i COLLATE any_case AS i, t, l FROM (VALUES ('A', 'i', 5::bigint, 1), ('a', 'i', 5, 1), ('ä', 'Z', 5, 1), ('b', 'z', 5, 1)) AS v(u, i, t, l)`;
    const { prepared, own } = await bothReadings(store, query, BINARY);
    expect(prepared).toEqual(own);
    expect(prepared.facts).toHaveLength(4);
  });
});

test.skipIf(!bin)("a database in LATIN1 reads words and numbers between its spaces", async () => {
  const store = await postgresStore(bin!, "LATIN1");
  try {
    const rows = (label: string) => `SELECT u, u AS i, 5 AS t, l FROM (VALUES
      ('a', '${label}'), ('b', chr(160) || '${label}' || chr(160) || ' '), ('é', ' '), ('c', 'à${label}'), ('d', ' ${label}')) AS v(u, l)`;
    for (const [label, text] of [
      [BINARY, "Yes"],
      [RATING, "5"],
    ] as const) {
      const { prepared, own } = await bothReadings(store, rows(text), label);
      expect(prepared).toEqual(own);
      expect(prepared.rejected).toMatchObject({ missing_label: 1 });
    }
  } finally {
    await store.stop();
  }
});
