import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelSpec } from "../../../../shared/model-spec.ts";
import { type DryRunOptions, dryRun } from "../../../../trainer/manage/dry-run/dry-run.ts";
import type { DryRunReport } from "../../../../trainer/manage/dry-run/dry-run-report.ts";
import type { Connector, ConnectorFactory } from "../../../../trainer/read/connectors/connector.ts";
import { connectFile } from "../../../../trainer/read/connectors/file/file.ts";
import { StageError } from "../../../../trainer/stage/stage-error.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { NOW_MS, readRows, specOf } from "../../../fixtures/rows-spec.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dry-run-test-"));
});
afterAll(async () => {
  expect((await readdir(folder)).filter((name) => name.startsWith("dry-run-"))).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

const run = (spec: ModelSpec, options: DryRunOptions = {}, signal = new AbortController().signal) =>
  dryRun(spec, { customer: "t", settings: fileSettings([folder], folder) }, signal, {
    nowMs: NOW_MS,
    connect: connectMemory,
    ...options,
  });

const T = 1_700_000_000;
const good = `SELECT 'u' || range % 50 AS u, range % 30 AS i, ${T} + range AS t, range % 2 AS l FROM range(2000)`;
const briefly = ({ problems }: DryRunReport) =>
  problems.map(({ pointer, severity, code }) => `${severity} ${code} ${pointer}`);

test("the report of good rows has columns, types, sizes, attributes and no problems", async () => {
  const report = await run(
    specOf({
      interactions: good,
      items: "SELECT range AS i, 'Item ' || range AS name FROM range(30)",
      users: "SELECT 'u1' AS u, 33 AS age",
    }),
  );
  expect(report).toMatchObject({ ok: true, item_id_type: "integer", problems: [] });
  expect(report.queries[0]).toMatchObject({
    pointer: "/schema/interaction/source",
    sample_size: 2000,
    columns: [
      { name: "u", type: "VARCHAR" },
      { name: "i", type: "BIGINT" },
      { name: "t", type: "BIGINT" },
      { name: "l", type: "BIGINT" },
    ],
  });
  expect(report.example_users).toHaveLength(17); // every third of the 50 users
  expect(report.example_users.slice(0, 2)).toEqual([
    { user_id: "u0", rows: 40 },
    { user_id: "u11", rows: 40 }, // by their ids as text: u0, u1, u10, u11
  ]);
  expect(report.queries[0]!.sample).toHaveLength(5);
  expect(report.queries[0]!.sample[1]).toEqual({ u: "u1", i: 1, t: T + 1, l: 1 });
  expect(report.predicted_training).toEqual({ rows: 2000, seconds: 7 });
  expect(report.queries.map(({ pointer }) => pointer).slice(1)).toEqual(["/schema/item/source", "/schema/user/source"]);
  expect(report.item_attributes).toEqual([{ name: "name", type: "Text", inferred: true, present: 30, distinct: 30 }]);
  expect(report.user_attributes).toEqual([
    { name: "age", type: "Numerical", inferred: true, present: 1, distinct: null },
  ]);
});

test("what the connector notes of a file is a warning of the dry run, and of the record", async () => {
  const rows = Array.from({ length: 200 }, (_, n) => `u${n % 20},i${n % 10},${T + n},${n % 2}\n`);
  await writeFile(join(folder, "latin.csv"), Buffer.from(`u,i,t,l\n${rows.join("")}é,i1,${T},1\n`, "latin1"));
  const spec: ModelSpec = {
    ...specOf({ interactions: "FROM latin" }),
    connector_configs: [{ type: "File", location: "latin.csv" }],
  };
  const note = '"latin.csv" is not UTF-8; it was read as Windows-1252';
  const { problems, ok } = await run(spec, { connect: connectFile });
  expect(ok).toBe(true);
  expect(problems).toContainEqual({
    pointer: "/schema/interaction/source/query",
    severity: "warning",
    code: "source_note",
    message: note,
  });
  const context = { customer: "t", settings: fileSettings([folder], folder) };
  expect((await readRows(spec, { context, connect: connectFile })).summary.warnings).toContain(note);
});

test("a problem that several sources have is listed once", async () => {
  const rows = Array.from({ length: 200 }, (_, n) => `u${n % 20},i${n % 10},${T + n},${n % 2}\n`);
  await writeFile(join(folder, "shared.csv"), Buffer.from(`u,i,t,l\n${rows.join("")}é,i1,${T},1\n`, "latin1"));
  const spec: ModelSpec = {
    ...specOf({ interactions: "FROM shared", items: "FROM shared", users: "FROM shared" }),
    connector_configs: [{ type: "File", location: "shared.csv" }],
  };
  const { problems } = await run(spec, { connect: connectFile });
  expect(problems.filter(({ code }) => code === "source_note").map(({ pointer }) => pointer)).toEqual([
    "/schema/interaction/source/query",
  ]);
});

test("columns of a file whose names differ only in case are both attributes, with a warning", async () => {
  await writeFile(join(folder, "prices.csv"), "i,Price,price\n1,9.5,cheap\n2,10,dear\n");
  const spec: ModelSpec = {
    ...specOf({ interactions: good, items: "FROM prices" }),
    connector_configs: [{ type: "File", location: "prices.csv" }],
  };
  const { problems, item_attributes } = await run(spec, { connect: connectFile });
  expect(item_attributes.map(({ name, type }) => `${name} ${type}`)).toEqual(["Price Numerical", "price_1 Category"]);
  expect(problems.map(({ message }) => message)).toContain(
    'The item attribute "price_1" is a column whose name differs from "Price" only in case',
  );
});

test("only the beginning of a long query is read", async () => {
  const report = await run(specOf({ interactions: good.replace("range(2000)", "range(100_000_000)") }));
  expect(report.queries[0]!.sample_size).toBe(5000);
  expect(report.ok).toBe(true);
});

test("rows are predicted from BigQuery's bytes, and not from the bytes of files", async () => {
  const interactions = good.replace("range(2000)", "range(6000)");
  const connect: ConnectorFactory = async (...args) => {
    const connector = await connectMemory(...args);
    const inspect: Connector["inspect"] = async (...query) => ({
      ...(await connector.inspect(...query)),
      estimatedBytes: 10_000_000,
    });
    return { ...connector, inspect };
  };
  const predict = async (type: string) =>
    (await run({ ...specOf({ interactions }), connector_configs: [{ type }] }, { connect })).predicted_training;
  expect(await predict("BigQuery")).toMatchObject({ rows: Math.round(10_000_000 / (3 * 8 + 2 + 2.8)) });
  expect(await predict("File")).toBeNull();
});

test("rows that no file holds are estimated, and a warning says when they may not fit onto the disk", async () => {
  await writeFile(join(folder, "one.csv"), "one\n1\n");
  const interactions = good.replace("range(2000)", "range(2000000000)");
  const spec = { ...specOf({ interactions }), connector_configs: [{ type: "File", location: "one.csv" }] };
  const { connect } = await import("../../../../trainer/read/connectors/connect.ts");
  const settings = { ...fileSettings([folder], folder), diskBytesMax: 1e9 };
  const signal = new AbortController().signal;
  const report = await dryRun(spec, { customer: "t", settings }, signal, { nowMs: NOW_MS, connect });
  expect(report.queries[0]).toMatchObject({ estimated_rows: 2_000_000_000, estimated_bytes: null });
  expect(report.predicted_training?.rows).toBe(2_000_000_000);
  expect(briefly(report)).toContain("warning disk_budget_exceeded /schema/interaction/source/query");
});

test("missing columns point to the fields that name them, with the nearest name", async () => {
  const report = await run(specOf({ interactions: good.replace("AS t", "AS time").replace("AS i,", "AS item,") }));
  expect(briefly(report)).toEqual([
    "error missing_column /schema/item/id",
    "error missing_column /schema/interaction/created_at",
  ]);
  expect(report.problems[1]!.message).toContain('its columns are "u", "item", "time", "l"');
  expect(report).toMatchObject({ ok: false, item_id_type: null });
});

const rows = (values: string) => `SELECT * FROM (VALUES ${values}) v(u, i, t, l)`;
test.each<[string, string[]]>([
  [rows(`(1, 7, 'soon', 1), (2, 8, 'later', 1)`), ["error unparsable_time /schema/interaction/created_at"]],
  [rows(`(1, 7, ${T}, 5), (2, 8, ${T}, 4)`), ["error unparsable_label /schema/interaction/label"]],
  [rows("(1, 7, '2030-01-01', 1), (2, 8, '2030-01-01', 1)"), ["error future_time /schema/interaction/created_at"]],
  [
    rows(`(1, 7, ${T}, 1), (1, 8, ${T}, 1)`),
    [
      "warning few_interactions /schema/interaction/source/query",
      "warning one_user /schema/user/id",
      "warning one_time /schema/interaction/created_at",
    ],
  ],
  [
    rows(`(1, 7, ${T}, 1), (2, 7, ${T + 1}, 1)`),
    ["error too_few_items /schema/item/id", "warning few_interactions /schema/interaction/source/query"],
  ],
  [
    rows(`(1, 7, ${T}, 0), (2, 8, ${T + 1}, 0)`),
    [
      "error all_labels_negative /schema/interaction/label",
      "warning few_interactions /schema/interaction/source/query",
    ],
  ],
  [`${good} LIMIT 0`, ["error no_rows /schema/interaction/source/query"]],
  [rows(`([1], 7, ${T}, 1)`), ["error unsupported_column_type /schema/interaction"]],
  [
    `SELECT CASE WHEN range > 5 THEN 'u' || range % 9 END AS u, range % 30 AS i, ${T} + range AS t, 1 AS l FROM range(3000)`,
    ["warning missing_user /schema/user/id"],
  ],
  [
    `SELECT CASE WHEN range > 5 THEN range % 9 ELSE 'nan'::DOUBLE END AS u, range % 30 AS i, ${T} + range AS t, 1 AS l FROM range(3000)`,
    ["warning missing_user /schema/user/id", "warning user_ids /schema/user/id"],
  ],
])("%#: %j", async (interactions, problems) => {
  const report = await run(specOf({ interactions }));
  expect(briefly(report)).toEqual(problems);
  expect(report.ok).toBe(problems.every((problem) => problem.startsWith("warning")));
});

test("sessions: their column is shown, missing, or of no use", async () => {
  const withSessions = (session: string, session_id: string) => {
    const spec = specOf({ interactions: `SELECT *, ${session} AS s FROM (${good})` });
    return run({ ...spec, schema: { ...spec.schema, interaction: { ...spec.schema.interaction, session_id } } });
  };
  const report = await withSessions("t // 1000", "s");
  expect([report.queries[0]!.sample[0], briefly(report)]).toEqual([
    expect.objectContaining({ s: expect.anything() }),
    [],
  ]);
  expect(briefly(await withSessions("t // 1000", "S"))).toEqual([
    "error missing_column /schema/interaction/session_id",
  ]);
  expect(briefly(await withSessions("t", "s"))).toEqual(["warning single_sessions /schema/interaction/session_id"]);
  expect(briefly(await withSessions("t", "u"))).toEqual([]);
});

test("one user in the sample of a long query is a warning", async () => {
  const interactions = `SELECT range // 10_000 AS u, range % 30 AS i, ${T} + range AS t, 1 AS l FROM range(1_000_000)`;
  expect(briefly(await run(specOf({ interactions })))).toEqual(["warning one_user /schema/user/id"]);
});

test("problems of attribute queries point to the feature by its position", async () => {
  const itemFeatures = [
    { name: "name", type: "Text" as const },
    { name: "prize", type: "Numerical" as const },
  ];
  const items = "SELECT range AS i, 'x' AS name, 1.5 AS price FROM range(3)";
  const report = await run(specOf({ interactions: good, items, itemFeatures }));
  expect(briefly(report)).toEqual(["error missing_column /schema/item/features/1/name"]);
  expect(report.problems[0]!.message).toContain('did you mean "price"?');
});

test("item ids of another type, and ids without interactions, are warnings", async () => {
  const messages = async (items: string, interactions = good) =>
    (await run(specOf({ interactions, items }))).problems.map(({ code, message }) => `${code}: ${message}`);
  expect(await messages("SELECT unnest(['1', '2', 'TOTAL']) AS i, 5 AS price")).toEqual([
    `attribute_rows: 1 rows of the item query have an id such as "TOTAL" and were left out: the interactions' ids are whole numbers, written without leading zeros`,
  ]);
  const unknownIds = "SELECT range + 100 AS i, 5 AS price FROM range(9)";
  expect(await messages(unknownIds)).toEqual([
    expect.stringMatching(/^attribute_rows: No id of the item query, such as "100" is among those of the interactions/),
  ]);
  expect(await messages(unknownIds, good.replace("range(2000)", "range(6000)"))).toEqual([]); // the rest of the interactions is unknown
});

test("an attribute with too long a name is a warning, and is left out", async () => {
  const report = await run(
    specOf({ interactions: good, items: `SELECT range AS i, 5 AS "${"x".repeat(1001)}" FROM range(9)` }),
  );
  expect(briefly(report)).toEqual(["warning attribute_rows /schema/item/source"]);
  expect(report.item_attributes).toEqual([]);
});

test("attributes are described as in a training", async () => {
  const rows =
    "(0, 'a|b', 'x', true, 1), (1, '', 'y', NULL, 2), (2, '|', 'x', false, NULL), (3, 'b|c', NULL, NULL, 2), (4, NULL, '', NULL, 1)";
  const items = `SELECT i, tags, kind, string_split(tags, '|') AS list, is_new, size FROM (VALUES ${rows}) v(i, tags, kind, is_new, size)`;
  const spec = specOf({ interactions: good, items });
  const { item_attributes: described } = await run(spec);
  expect(described).toEqual((await readRows(spec)).summary.item_attributes);
  expect(described.slice(0, 1)).toEqual([
    { name: "tags", type: "CategoryList", inferred: true, present: 2, distinct: 3 },
  ]);
});

test("an error of a connector is a problem of the report", async () => {
  await writeFile(join(folder, "t.csv"), "u,i,t,l\n1,2,3,1\n");
  const file = (location: string, query: string): ModelSpec => ({
    ...specOf({ interactions: query }),
    connector_configs: [{ type: "File", location }],
  });
  const { connect } = await import("../../../../trainer/read/connectors/connect.ts");
  expect(briefly(await run(file("nothing.csv", "FROM t"), { connect }))).toEqual([
    "error file_not_found /connector_configs/0",
  ]);
  expect(briefly(await run(file("t.csv", "FROM tt"), { connect }))).toEqual([
    "error source_table_not_found /schema/interaction/source/query",
  ]);
  expect(briefly(await run({ ...file("", ""), connector_configs: [{ type: "Fiel" }] }, { connect }))).toEqual([
    "error unknown_connector_type /connector_configs/0",
  ]);
});

describe("unreadable lines", () => {
  const tryLines = async (lines: number, isBad: (n: number) => boolean) => {
    const line = (n: number) => (isBad(n) ? `u${n}\n` : `u${n % 50},${n % 30},${T + n},1\n`);
    await writeFile(join(folder, "bad.csv"), `u,i,t,l\n${Array.from({ length: lines }, (_, n) => line(n)).join("")}`);
    const spec = {
      ...specOf({ interactions: "FROM bad" }),
      connector_configs: [{ type: "File", location: "bad.csv" }],
    };
    const { connect } = await import("../../../../trainer/read/connectors/connect.ts");
    const context = { customer: "t", settings: fileSettings([folder], folder) };
    const trained = await readRows(spec, { connect, context }).then(
      () => true,
      (error: StageError) => error.code,
    );
    return { report: await run(spec, { connect }), trained };
  };
  const pointer = "/schema/interaction/source/query";

  test("beyond the sample are reported too", async () => {
    const { report, trained } = await tryLines(20_000, (n) => n % 10 === 3);
    expect(briefly(report)).toEqual([`warning malformed_line ${pointer}`, `warning source_note ${pointer}`]);
    expect(report.problems[0]!.message).toMatch(/^2000 × /);
    expect([report.ok, trained]).toEqual([true, true]);
  });

  test.each([3000, 40_000])("of %d lines are an error if a training would stop", async (lines) => {
    const { report, trained } = await tryLines(lines, (n) => n % 3 > 0);
    expect(briefly(report)[0]).toBe(`error malformed_line ${pointer}`);
    expect([report.ok, trained]).toEqual([false, "too_many_rejected_rows"]);
  });

  test("and rejected rows count together", async () => {
    const { report, trained } = await tryLines(3000, (n) => n % 5 < 2);
    expect([report.ok, trained]).toEqual([true, true]);
    const twice = await run(
      {
        ...specOf({ interactions: "SELECT CASE WHEN t % 5 = 2 THEN NULL ELSE u END AS u, i, t, l FROM bad" }),
        connector_configs: [{ type: "File", location: "bad.csv" }],
      },
      { connect: (await import("../../../../trainer/read/connectors/connect.ts")).connect },
    );
    expect(briefly(twice).slice(0, 2)).toEqual([
      `error malformed_line ${pointer}`,
      "error missing_user /schema/user/id",
    ]);
  });
});

test("an aborted signal ends the dry run with its reason", async () => {
  const reason = new Error("the caller has gone");
  await expect(run(specOf({ interactions: good }), {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  const connect = () => Promise.reject(new StageError("fetching", "source_timeout", "interrupted"));
  await expect(run(specOf({ interactions: good }), { connect }, AbortSignal.abort(reason))).rejects.toBe(reason);
});
