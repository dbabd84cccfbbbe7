import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isKeyed } from "../../../../shared/attributes.ts";
import { decodeCatalog, encodeCatalog } from "../../../../shared/catalog.ts";
import type { Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import type { StageProgress } from "../../../../trainer/stage/stage-reporter.ts";
import { missingRealData, readRealData } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { itemIdsOf, readRows, rowsOf, specOf } from "../../../fixtures/rows-spec.ts";

const values = (rows: string, columns = "u, i, t, l") => `SELECT * FROM (VALUES ${rows}) v(${columns})`;
const T = 1_700_000_000;

test("rows become interactions grouped by user, oldest first, with items in the order of their ids", async () => {
  const { dataset, summary } = await readRows(
    specOf({
      interactions: values(
        `('b', 'y', ${T + 2}, 1), ('a', 'x', ${T + 5}, 1), ('b', 'x', ${T + 1}, 1), ('a', 'z', ${T + 3}, 0)`,
      ),
    }),
  );
  expect(itemIdsOf(dataset)).toEqual(["x", "y", "z"]);
  expect(rowsOf(dataset)).toEqual([`a z ${T + 3} 0`, `a x ${T + 5} 1`, `b x ${T + 1} 1`, `b y ${T + 2} 1`]);
  expect(dataset).toMatchObject({ userCount: 2, itemCount: 3, itemIdType: "string", ratings: null });
  expect(summary).toMatchObject({
    users: 2,
    items: 3,
    interactions: 4,
    positives: 3,
    duplicate_rows: 0,
    rejected_rows: {},
  });
  expect(summary.from).toBe(new Date((T + 1) * 1000).toISOString());
  expect(summary.to).toBe(new Date((T + 5) * 1000).toISOString());
  expect(summary.recent_days).toEqual({ from: "2023-11-14", interactions: [4] });
  expect(summary.warnings.join()).toContain("only 4 interactions");
});

test("rows of the same user, item and second become one with the strongest label", async () => {
  const { dataset, summary } = await readRows(
    specOf({
      interactions: values(
        `(1, 7, ${T}, 0), (1, 7, ${T}, 1), (1, 7, ${T}, 0), (1, 8, ${T}, 0), (1, 7, ${T + 1}, 0), (2, 7, ${T}, 1)`,
      ),
    }),
  );
  expect(rowsOf(dataset)).toEqual([`1 8 ${T} 0`, `1 7 ${T} 1`, `1 7 ${T + 1} 0`, `2 7 ${T} 1`]);
  expect(summary.duplicate_rows).toBe(2);
  expect(dataset.itemIdType).toBe("integer");
});

test("the same rows in another order give the same dataset, byte for byte", async () => {
  const row = fc.record({ u: fc.nat(3), i: fc.nat(4), t: fc.nat(3), l: fc.boolean() });
  const rows = fc.array(row, { minLength: 6, maxLength: 25 });
  const both = fc.tuple(rows, fc.infiniteStream(fc.nat())).map(([given, keys]) => {
    const shuffled = given.map((one) => ({ one, key: keys.next().value as number }));
    return [given, shuffled.sort((a, b) => a.key - b.key).map(({ one }) => one)] as const;
  });
  await fc.assert(
    fc.asyncProperty(both, async ([given, shuffled]) => {
      const read = async (list: typeof given) => {
        const sql = list.map(({ u, i, t, l }) => `('u${u}', 'i${i}', ${T + t}, ${l})`).join(", ");
        const extra = `('v', 'i0', ${T}, true), ('v', 'i1', ${T}, true)`;
        return await readRows(specOf({ interactions: values(`${sql}, ${extra}`) }));
      };
      expect(await read(shuffled)).toEqual(await read(given));
    }),
    { numRuns: 8 },
  );
});

test("rows of the same second are ordered by a hash, or stay in their order", async () => {
  const spec = specOf({
    interactions: values(`(1, 'a', ${T}, 1), (1, 'b', ${T}, 1), (1, 'a', ${T}, 0), (2, 'a', ${T}, 1)`),
  });
  expect(rowsOf((await readRows(spec)).dataset).slice(0, 2)).toEqual([`1 b ${T} 1`, `1 a ${T} 1`]);
  const inRowOrder = await readRows(spec, { tieOrder: "row" });
  expect(rowsOf(inRowOrder.dataset).slice(0, 2)).toEqual([`1 a ${T} 1`, `1 b ${T} 1`]);
  expect(inRowOrder.summary.duplicate_rows).toBe(1);
});

test("ratings are kept, and are positive from positive_from on", async () => {
  const { dataset } = await readRows(
    specOf({
      interactions: values(`(1, 7, ${T}, 4.5), (1, 8, ${T + 1}, 2), (2, 7, ${T}, 4), (2, 7, ${T}, 3)`),
      label: { type: "Rating", name: "l", positive_from: 4 },
    }),
  );
  expect(rowsOf(dataset)).toEqual([`1 7 ${T} 1`, `1 8 ${T + 1} 0`, `2 7 ${T} 1`]);
  expect(Array.from(dataset.ratings!)).toEqual([4.5, 2, 4]);
});

test("weights are kept, are positive above 0, and are rejected below", async () => {
  const { dataset, summary } = await readRows(
    specOf({
      interactions: values(`(1, 7, ${T}, 12.5), (1, 8, ${T + 1}, 0), (2, 7, ${T}, 1), (2, 8, ${T}, -1)`),
      label: { type: "Weight", name: "l" },
    }),
    { rejectedFractionMax: 0.5 },
  );
  expect(rowsOf(dataset)).toEqual([`1 7 ${T} 1`, `1 8 ${T + 1} 0`, `2 7 ${T} 1`]);
  expect(Array.from(dataset.ratings!)).toEqual([12.5, 0, 1]);
  expect(summary.rejected_rows).toEqual({ unparsable_label: 1 });
});

test("each kind of bad row has its reason, and the good ones are kept", async () => {
  const good = Array.from({ length: 20 }, (_, n) => `('u${n % 3}', 'i${n % 4}', '${T + n}', '1')`).join(", ");
  const bad = [
    `(NULL, 'i', '${T}', '1')`,
    `('', 'i', '${T}', '1')`,
    `('u', NULL, '${T}', '1')`,
    `(repeat('x', 1000000), 'i', '${T}', '1')`,
    `('u' || chr(0), 'i', '${T}', '1')`,
    "('u', 'i', NULL, '1')",
    "('u', 'i', 'soon', '1')",
    "('u', 'i', '1960-01-01', '1')",
    "('u', 'i', '2150-01-01', '1')",
    "('u', 'i', '2025-01-03', '1')",
    `('u', 'i', '${T}', '')`,
    `('u', 'i', '${T}', 'perhaps')`,
  ];
  const { dataset, summary } = await readRows(specOf({ interactions: values(`${good}, ${bad.join(", ")}`) }));
  expect(summary.rejected_rows).toEqual({
    missing_user: 2,
    missing_item: 1,
    id_too_long: 1,
    id_has_nul: 1,
    missing_time: 1,
    unparsable_time: 1,
    time_out_of_range: 2,
    future_time: 1,
    missing_label: 1,
    unparsable_label: 1,
  });
  expect(dataset.items.length).toBe(20);
  expect(summary.warnings.join("\n")).toContain("2 × missing_user: the user id is null or empty (row 21, 22)");
});

test("times up to a day ahead are accepted", async () => {
  const { summary } = await readRows(
    specOf({
      interactions: values(
        "(1, 7, '2025-01-01 23:59:59', 1), (2, 8, '2024-12-31', 1), (3, 8, '2025-01-02 00:00:01', 1)",
      ),
    }),
  );
  expect(summary.rejected_rows).toEqual({ future_time: 1 });
});

test("a column of milliseconds is recognised although some values are small", async () => {
  const { dataset } = await readRows(
    specOf({ interactions: values(`(1, 7, ${T}123, 1), (1, 8, ${T}999, 1), (2, 7, 0, 1), (2, 8, ${T + 60}000, 1)`) }),
  );
  expect([...dataset.times]).toEqual([T, T, 0, T + 60]);
});

describe("ids", () => {
  test("doubles that are all whole are integers; the attribute table may hold them as text", async () => {
    const { dataset } = await readRows(
      specOf({
        interactions: values(`(1.0::DOUBLE, 7.0::DOUBLE, ${T}, 1), (2.0, 10.0, ${T}, 1)`),
        items: values("('7', 'seven'), ('10', 'ten'), ('11', 'eleven')", "i, name"),
      }),
    );
    expect(dataset.itemIdType).toBe("integer");
    expect(itemIdsOf(dataset)).toEqual(["10", "11", "7"]);
    expect(rowsOf(dataset)).toEqual([`1 7 ${T} 1`, `2 10 ${T} 1`]);
  });

  test("doubles that are not all whole are text", async () => {
    const { dataset } = await readRows(
      specOf({ interactions: values(`(1, 7.5::DOUBLE, ${T}, 1), (2, 8.0, ${T}, 1)`) }),
    );
    expect(dataset.itemIdType).toBe("string");
    expect(itemIdsOf(dataset)).toEqual(["7.5", "8"]);
  });

  test("a type that cannot be an id ends the run with an error that names it", async () => {
    const spec = specOf({ interactions: values(`(1, [7], ${T}, 1)`) });
    await expect(readRows(spec)).rejects.toMatchObject({ code: "unsupported_column_type", stage: "checking" });
    await expect(readRows(spec)).rejects.toThrow('The column "i" has the type INTEGER[], which cannot be an item id');
  });
});

describe("attributes", () => {
  const two = values(`(1, 7, ${T}, 1), (2, 8, ${T}, 1), (1, 8, ${T + 1}, 1)`);

  test("columns are aligned with items, also with those that have no interactions", async () => {
    const { dataset, summary } = await readRows(
      specOf({
        interactions: two,
        items: values(
          "(9, 'cold', 1.5, 'a|b', true), (8, 'eight', NULL, 'b', NULL), (3, 'also cold', 2, NULL, false)",
          "i, name, price, tags, ok",
        ),
        users: values("(2, 'DE'), (77, 'FR')", "u, country"),
      }),
    );
    expect(itemIdsOf(dataset)).toEqual(["3", "7", "8", "9"]);
    expect(attributesOf(dataset)).toEqual({
      name: { 8: ["eight"], 7: [], 3: ["also cold"], 9: ["cold"] },
      price: { 8: Number.NaN, 7: Number.NaN, 3: 2, 9: 1.5 },
      tags: { 8: ["b"], 7: [], 3: [], 9: ["a", "b"] },
      ok: { 8: 255, 7: 255, 3: 0, 9: 1 },
    });
    expect(summary.item_attributes).toEqual([
      { name: "name", type: "Category", inferred: true, present: 3, distinct: 3 },
      { name: "price", type: "Numerical", inferred: true, present: 2, distinct: null },
      { name: "tags", type: "CategoryList", inferred: true, present: 2, distinct: 2 },
      { name: "ok", type: "Boolean", inferred: true, present: 2, distinct: null },
    ]);
    expect(dataset.userCount).toBe(2); // user 77 has no interaction
    expect(dataset.userAttributes).toEqual([
      {
        name: "country",
        type: "Category",
        dictionary: ["DE"],
        start: Uint32Array.of(0, 0, 1),
        codes: Uint32Array.of(0),
      },
    ]);
  });

  test("the last row of a repeated id is taken; warnings count repeated and missing ids", async () => {
    const { dataset, summary } = await readRows(
      specOf({ interactions: two, items: values("(7, 'old'), (7, 'new'), (NULL, 'lost')", "i, name") }),
    );
    expect(attributesOf(dataset).name).toEqual({ 8: [], 7: ["new"] });
    expect(summary.warnings.join("\n")).toContain("1 rows of the item query repeat an id");
    expect(summary.warnings.join("\n")).toContain("1 rows of the item query have no usable id");
  });

  test("only declared features are read, with their declared types", async () => {
    const { dataset, summary } = await readRows(
      specOf({
        interactions: two,
        items: values("(7, 10, 'x'), (8, 20, 'y')", "i, size, other"),
        itemFeatures: [{ name: "size", type: "Category" }],
      }),
    );
    expect(attributesOf(dataset)).toEqual({ size: { 7: ["10"], 8: ["20"] } });
    expect(summary.item_attributes).toEqual([
      { name: "size", type: "Category", inferred: false, present: 2, distinct: 2 },
    ]);
  });

  test("a missing declared feature ends the run", async () => {
    const spec = specOf({
      interactions: two,
      items: values("(7, 1)", "i, size"),
      itemFeatures: [{ name: "sise", type: "Text" }],
    });
    await expect(readRows(spec)).rejects.toMatchObject({ code: "missing_column" });
  });
});

/** Attribute values by attribute, then by item id. */
function attributesOf(dataset: Dataset): Record<string, Record<string, unknown>> {
  const ids = itemIdsOf(dataset);
  return Object.fromEntries(
    dataset.itemAttributes
      .filter(isKeyed)
      .map((column) => [
        column.name,
        Object.fromEntries(
          ids.map((id, item) => [
            id,
            "values" in column
              ? column.values[item]
              : Array.from(
                  column.codes.subarray(column.start[item], column.start[item + 1]),
                  (code) => column.dictionary[code],
                ),
          ]),
        ),
      ]),
  );
}

test("more interactions than the memory holds are refused before they are collected", async () => {
  const interactions = `SELECT range % 1000 AS u, range % 77 AS i, ${T} + range AS t, 1 AS l FROM range(200_000)`;
  await expect(readRows(specOf({ interactions }), { memoryMbMax: 7.5 })).rejects.toMatchObject({
    code: "too_many_interactions",
    message: expect.stringContaining("200000 interactions need 3 MB, and 2 MB"),
  });
  expect((await readRows(specOf({ interactions }), { memoryMbMax: 300 })).summary.interactions).toBe(200_000);
});

test("progress reports the rows and the current step", async () => {
  const reports: StageProgress[] = [];
  const rows = `SELECT range % 1000 AS u, range % 77 AS i, ${T} + range AS t, 1 AS l FROM range(300_000)`;
  await readRows(specOf({ interactions: rows }), { progress: (progress) => reports.push(progress) });
  const reading = reports.filter(({ detail }) => detail === "reading interactions").map((progress) => progress.rows!);
  expect(reading.length).toBeGreaterThan(2);
  expect(reading).toEqual([...reading].sort((a, b) => a - b));
  expect(reading.at(-1)).toBe(300_000);
  expect(reports.every(({ fraction = 0 }) => fraction >= 0 && fraction <= 1)).toBe(true);
  expect(new Set(reports.map(({ detail }) => detail))).toContain("collecting rows");
});

test("an abort at any step ends with its reason and leaves no files", async () => {
  const rows = `SELECT range % 1000 AS u, range % 77 AS i, ${T} + range AS t, 1 AS l FROM range(300_000)`;
  const reason = new Error("deleted");
  const moments = [
    "connecting for interactions",
    "reading interactions",
    "checking rows",
    "numbering users and items",
    "sorting rows",
    "collecting rows",
  ];
  for (const moment of moments) {
    const controller = new AbortController();
    const progress = ({ detail }: StageProgress) => detail === moment && controller.abort(reason);
    await expect(readRows(specOf({ interactions: rows }), { progress, signal: controller.signal })).rejects.toBe(
      reason,
    );
  }
});

test("a connector is opened once for all queries, and closed even when they fail", async () => {
  let [opened, closed] = [0, 0];
  const counting: typeof connectMemory = async (config, context) => {
    opened++;
    const connector = await connectMemory(config, context);
    const close = async () => {
      closed++;
      await connector.close();
    };
    return { ...connector, close };
  };
  const spec = specOf({
    interactions: values(`(1, 7, ${T}, 1), (2, 8, ${T}, 1)`),
    items: values("(7, 1)", "i, n"),
    users: values("(1, 1)", "u, n"),
  });
  await readRows(spec, { connect: counting });
  expect([opened, closed]).toEqual([1, 1]);
  await expect(readRows(specOf({ interactions: "SELECT nonsense" }), { connect: counting })).rejects.toThrow();
  expect([opened, closed]).toEqual([2, 2]);
});

const why = missingRealData("ml-100k");
test.skipIf(why !== undefined)(`ml-100k has the figures of its README${why ? ` (${why})` : ""}`, async () => {
  const { dataset, summary } = await readRealData("ml-100k", { withAttributes: true });
  expect(summary).toMatchObject({
    users: 943,
    items: 1682,
    interactions: 100_000,
    positives: 55_375,
    duplicate_rows: 0,
  });
  expect(summary.from?.slice(0, 10)).toBe("1997-09-20");
  expect(summary.item_attributes.map(({ name, type }) => [name, type])).toEqual([
    ["title", "Text"],
    ["release_year", "Numerical"],
    ["genres", "CategoryList"],
  ]);
  expect(summary.user_attributes.map(({ name, type }) => [name, type])).toEqual([
    ["age", "Numerical"],
    ["gender", "Category"],
    ["occupation", "Category"],
    ["zip_code", "Text"],
  ]);
  expect(dataset.itemIdType).toBe("integer");
});

test("an item row with a non-integer id is left out where interactions have integer ids", async () => {
  const interactions = `SELECT range % 9 AS u, range % 5 AS i, ${1_700_000_000} + range AS t, 1 AS l FROM range(100)`;
  const items = "SELECT unnest(['0', '1', '77', 'TOTAL', '007']) AS i, 5 AS price";
  const { dataset, summary } = await readRows(specOf({ interactions, items }));
  expect(itemIdsOf(dataset)).toEqual(["0", "1", "2", "3", "4", "77"]);
  expect(decodeCatalog(encodeCatalog(dataset)).itemIdType).toBe("integer");
  expect(summary.warnings.join()).toContain('2 rows of the item query have an id such as "007"');
  expect(summary.warnings.join()).not.toContain("No id of");
});

test("attributes of items and users without interactions cause a warning", async () => {
  const interactions = `SELECT range % 9 AS u, range % 5 AS i, ${1_700_000_000} + range AS t, 1 AS l FROM range(100)`;
  const { summary } = await readRows(
    specOf({ interactions, items: "SELECT 77 AS i, 5 AS price", users: "SELECT 'u1' AS u, 33 AS age" }),
  );
  expect(summary.warnings.filter((text) => text.startsWith("No id of"))).toEqual([
    expect.stringContaining('No id of the item query, such as "77"'),
    "No id of the user query is among those of the interactions: is the id column the right one?",
  ]);
});
