import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelSpec } from "../../../../shared/model-spec.ts";
import { connect } from "../../../../trainer/read/connectors/connect.ts";
import { StageError } from "../../../../trainer/stage/stage-error.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { itemIdsOf, readRows, rowsOf, specOf } from "../../../fixtures/rows-spec.ts";

const values = (rows: string, columns = "u, i, t, l") => `SELECT * FROM (VALUES ${rows}) v(${columns})`;
const T = 1_700_000_000;

describe("data that cannot make a model", () => {
  test.each([
    [values(`(1, 7, ${T}, 1)`).replace("SELECT *", "SELECT * EXCLUDE (l)"), "missing_column"],
    [`${values(`(1, 7, ${T}, 1)`)} WHERE false`, "no_rows"],
    [values(`(1, 7, ${T}, 1), (2, 7, ${T}, 1)`), "too_few_items"],
    [values(`(1, 7, ${T}, 0), (2, 8, ${T}, 0)`), "all_labels_negative"],
    [values("(1, 7, '2030-01-01', 1), (2, 8, '2031-01-01', 1)"), "all_times_in_future"],
    [values(`(1, 7, ${T}, 5), (2, 8, ${T}, 4), (3, 9, ${T}, 1)`), "too_many_rejected_rows"],
    [values(`(1, 7, 'x', 1), (2, 8, 'y', 1)`), "too_many_rejected_rows"],
  ])("%#: %s", async (interactions, code) => {
    const error = await readRows(specOf({ interactions })).catch((caught) => caught);
    expect(error).toBeInstanceOf(StageError);
    expect([error.stage, error.code]).toEqual(["checking", code]);
  });

  test("ratings without a positive one are refused with the bound's name", () =>
    expect(
      readRows(
        specOf({
          interactions: values(`(1, 7, ${T}, 1), (2, 8, ${T}, 2)`),
          label: { type: "Rating", name: "l", positive_from: 4 },
        }),
      ),
    ).rejects.toMatchObject({ code: "no_positives" }));

  test("a missing column is named, with the existing columns and the nearest name", () => {
    const spec = specOf({
      interactions: `SELECT 1 AS u, 2 AS i, ${T} AS t, 1 AS is_liked`,
      label: { type: "Binary", name: "is_like" },
    });
    return expect(readRows(spec)).rejects.toThrow(
      'gives no column "is_like"; its columns are "u", "i", "t", "is_liked"; did you mean "is_liked"?',
    );
  });

  test("stars where a Binary label is expected get a hint", () =>
    expect(
      readRows(specOf({ interactions: values(`(1, 7, ${T}, 5), (2, 8, ${T}, 4), (3, 9, ${T}, 1)`) })),
    ).rejects.toThrow("label type Rating"));
});

describe("ids that are words for nothing, or have blanks around them", () => {
  const rows = {
    interactions: values(
      `('NULL', 'a', ${T}, 1), ('None', 'a', ${T}, 1), ('NULL', 'b', ${T}, 1), ('u', 'N/A', ${T}, 1), ('u', 'a', ${T}, 1),
       ('u ', 'b', ${T}, 1)`,
    ),
    items: "SELECT * FROM (VALUES ('a', 1), ('NULL', 2), (' b', 3)) v(i, size)",
  };

  test("words are missing ids, counted by word, also in the items' source", async () => {
    const { dataset, summary } = await readRows(specOf(rows), { rejectedFractionMax: 1 });
    expect(rowsOf(dataset)).toEqual([`u a ${T} 1`, `u  b ${T} 1`]);
    expect(itemIdsOf(dataset)).toEqual([" b", "a", "b"]);
    expect(summary.rejected_rows).toEqual({ missing_user: 3, missing_item: 1 });
    expect(summary.warnings.join("\n")).toContain('or a word for nothing: "NULL" 2, "None" 1');
    expect(summary.warnings.join("\n")).toContain("1 rows of the item query have no usable id");
  });

  test("keep_null_words takes them for ids, and trim_ids joins ids that differ by blanks", async () => {
    const { dataset, summary } = await readRows(specOf({ ...rows, keep_null_words: true, trim_ids: true }));
    expect(itemIdsOf(dataset)).toEqual(["N/A", "NULL", "a", "b"]);
    expect(
      rowsOf(dataset)
        .filter((row) => row.startsWith("u "))
        .sort(),
    ).toEqual([`u N/A ${T} 1`, `u a ${T} 1`, `u b ${T} 1`]);
    expect(summary.rejected_rows).toEqual({});
    expect(summary.item_attributes).toMatchObject([{ name: "size", present: 3 }]);
  });
});

describe("from files", () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "read-dataset-files-"));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const lines = (count: number) =>
    Array.from(
      { length: count },
      (_, n) => `u${n % 10},${n % 7},2024-01-${String((n % 28) + 1).padStart(2, "0")}T10:00:00Z,${n % 2}`,
    );
  const header = "user_id,item_id,created_at,label";
  const spec: ModelSpec = {
    model_name: "m",
    connector_configs: [{ type: "File", location: "t.csv*" }],
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id" },
      interaction: {
        created_at: "created_at",
        label: { type: "Binary", name: "label" },
        source: { query: "SELECT * FROM t" },
      },
    },
    train_schedule: "@once",
  };
  const readFileRows = async (name: string, content: string | Uint8Array) => {
    const folder = await mkdtemp(join(root, "case-"));
    await writeFile(join(folder, name), content);
    const settings = fileSettings([folder], folder);
    return await readRows(spec, { connect, context: { customer: "test", settings } });
  };

  test("a gzipped CSV of ISO times", async () => {
    const { summary } = await readFileRows("t.csv.gz", gzipSync([header, ...lines(100)].join("\n")));
    expect(summary).toMatchObject({
      users: 10,
      items: 7,
      interactions: 100,
      positives: 50,
      from: "2024-01-01T10:00:00.000Z",
    });
  });

  test("broken lines count among the rejected rows", async () => {
    const { summary } = await readFileRows(
      "t.csv",
      [header, ...lines(50), "u1", "u2,3,2024-01-01,1,extra", ...lines(50)].join("\n"),
    );
    expect(summary.rejected_rows).toEqual({ malformed_line: 2 });
  });

  test.each<[string, string | Uint8Array, string]>([
    ["empty", "", "missing_column"],
    ["only a header", `${header}\n`, "no_rows"],
    ["binary", Uint8Array.from({ length: 5000 }, (_, n) => (n * 7919) % 251), "file_malformed"],
    ["one item", [header, ...lines(100).map((line) => line.replace(/,\d+,/, ",1,"))].join("\n"), "too_few_items"],
    ["labels 0", [header, ...lines(100).map((line) => line.replace(/\d$/, "0"))].join("\n"), "all_labels_negative"],
    ["future", [header, ...lines(100).map((line) => line.replace("2024", "2034"))].join("\n"), "all_times_in_future"],
    ["NULs", [header, ...lines(100).map((line) => line.replace("u", "\0u"))].join("\n"), "too_many_rejected_rows"],
    ["1 MB ids", [header, ...lines(4).map((line) => "x".repeat(1 << 20) + line)].join("\n"), "too_many_rejected_rows"],
    [
      "bad times",
      [header, ...lines(100).map((line) => line.replace("2024-", "24/"))].join("\n"),
      "too_many_rejected_rows",
    ],
  ])("a CSV with %s ends the run with a code", async (_, content, code) => {
    const error = await readFileRows("t.csv", content).catch((caught) => caught);
    expect(`${error.code}: ${error.message}`).toContain(`${code}: `);
  });

  test("a truncated gzip file is refused", () =>
    expect(
      readFileRows("t.csv.gz", gzipSync([header, ...lines(50_000)].join("\n")).subarray(0, -2000)),
    ).rejects.toMatchObject({
      code: "file_malformed",
    }));
});
