import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { describeFiles } from "../../../trainer/local/local-source.ts";
import type { GivenFiles } from "../../../trainer/local/start-flags.ts";
import { findFiles } from "../../../trainer/read/connectors/duckdb/files.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "source-"));
  await mkdir(join(root, "shop"));
  await mkdir(join(root, "temp"));
});
afterEach(() => rm(root, { recursive: true }));

const access = () => ({ model: null, tempDirectory: join(root, "temp"), signal: new AbortController().signal });
async function given(files: { [name: string]: string }, more: Partial<GivenFiles> = {}): Promise<GivenFiles> {
  for (const [name, text] of Object.entries(files))
    await writeFile(join(root, "shop", name), name.endsWith(".gz") ? gzipSync(text) : text);
  return { interactions: join(root, "shop", Object.keys(files)[0]!), items: null, users: null, columns: {}, ...more };
}
const EVENTS = "user_id,item_id,timestamp,rating\nu1,i1,100,5\nu1,i2,200,1\nu2,i1,300,4\n";
const oneSentence = async (files: Promise<GivenFiles>) => {
  const failure = (await describeFiles(await files, access()).catch((error: Error) => error)) as Error;
  expect(failure.name).toBe("LocalError");
  expect(failure.message).not.toContain("\n");
  return failure.message;
};

test("a file becomes a model named after it, with guessed columns", async () => {
  const source = await describeFiles(await given({ "rentals.csv": EVENTS }), access());
  expect(source.body.model_name).toBe("rentals");
  expect(source.columns).toMatchObject({ user: "user_id", item: "item_id", time: "timestamp" });
  expect(source.body.schema.interaction.label).toEqual({ type: "Rating", name: "rating", positive_from: 4 });
  ModelSpec.parse(source.body);
  const columns = "user user_id, item item_id, time timestamp, label rating (positive from 4: 67 % of the rows)";
  expect(source.findings).toBe(`The columns: ${columns}.`);
  const query = source.body.schema.interaction.source.query;
  expect((await source.interactions.query(query)).map((row) => row.user_id)).toEqual(["u1", "u1", "u2"]);
});

test.each([
  ["-1,-1,-1,1", 1, "25 %"],
  ["0,0,0,2", 1, "25 %"],
  ["1,1,1,5", 5, "25 %"],
  ["1,2,NaN,5", 2, "50 %"],
])("labels %s are positive from %d", async (labels, positive_from, share) => {
  const rows = labels.split(",").map((label, i) => `u${i},i${i},${100 + i},${label}`);
  const text = `user_id,item_id,created_at,rating\n${rows.join("\n")}\n`;
  const source = await describeFiles(await given({ "rated.csv": text }), access());
  expect(source.body.schema.interaction.label).toMatchObject({ type: "Rating", positive_from });
  expect(source.findings).toMatch(`positive from ${positive_from}: ${share} of the rows`);
});

test("the time is the column whose values are times", async () => {
  const rows = "user_id,item_id,reviewTime,unixReviewTime\nann,a,in the spring,1252800000\n";
  const source = await describeFiles(await given({ "reviews.csv": rows }), access());
  expect(source.body.schema.interaction.created_at).toBe("unixReviewTime");
});

describe("ids within objects and lists", () => {
  const read = async (rows: readonly object[]) => {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    const source = await describeFiles(await given({ "track.jsonl": text }), access());
    const { query } = ModelSpec.parse(source.body).schema.interaction.source as { query: string };
    return await source.interactions.query(query);
  };

  test("the fields of an object", async () => {
    const rows = ["ann", "bob"].map((id, i) => ({
      user: { id },
      properties: { product_id: `p${i}` },
      sent_at: `2024-01-0${i + 1}`,
    }));
    expect(await read(rows)).toMatchObject([
      { user_id: "ann", properties_product_id: "p0", sent_at: "2024-01-01" },
      { user_id: "bob", properties_product_id: "p1", sent_at: "2024-01-02" },
    ]);
  });

  test("the items of an event, as Google Analytics writes them", async () => {
    const event = { event_name: "purchase", user_pseudo_id: "1.2", event_timestamp: 1_704_164_645_000_000 };
    const rows = [
      { ...event, items: [{ item_id: "a" }, { item_id: "b" }] },
      { ...event, items: [] },
    ];
    expect((await read(rows)).map((row) => [row.user_pseudo_id, row.item_item_id])).toEqual([
      ["1.2", "a"],
      ["1.2", "b"],
    ]);
  });

  test("the lines of an order, whose own ids are not the items", async () => {
    const lineItems = [
      { id: 1, product_id: 71 },
      { id: 2, product_id: 72 },
    ];
    const rows = await read([{ id: 5, customer: { id: 9 }, created_at: "2024-01-02", lineItems, tags: ["x", "y"] }]);
    expect(rows.map((row) => [Number(row.customer_id), Number(row.lineItem_product_id)])).toEqual([
      [9, 71],
      [9, 72],
    ]);
  });

  test("a list of ids; not where another column is the item", async () => {
    const rows = await read([{ user: "ann", products: ["a", "b"] }]);
    expect(rows.map((row) => row.product)).toEqual(["a", "b"]);
    const others = await read([{ user: "ann", sku: "c", products: ["a", "b"] }]);
    expect(others.map((row) => row.sku)).toEqual(["c"]);
  });
});

test.each([
  ["2024-01-02,03:04:05", "2024-01-02 03:04:05"],
  ["01/31/2024,3:04 PM", "01/31/2024 3:04 PM"],
])("a day and a clock are one time: %s", async (row, expected) => {
  const text = `sale_date,sale_time,customer,item\n${row},ann,a\n`;
  const source = await describeFiles(await given({ "till.csv": text }), access());
  expect(source.columns.time).toBe("date_time");
  const [read] = await source.interactions.query(source.body.schema.interaction.source.query);
  expect(read).toMatchObject({ date_time: expected, customer: "ann", item: "a" });
});

test("a clock is not added to a time that has one", async () => {
  const text = "date,time,customer,item\n2024-01-02 00:00:00,03:04:05,ann,a\n";
  const source = await describeFiles(await given({ "till.csv": text }), access());
  expect(source.columns.time).toBe("date");
});

test("orders of unknown customers are sessions", async () => {
  const text = "Transaction,Item,created_at\n1,Bread,100\n1,Jam,100\n";
  const source = await describeFiles(await given({ "bakery.csv": text }), access());
  expect(source.body.schema.interaction.session_id).toBe("Transaction");
  expect(source.findings).toContain("session Transaction, item Item");
});

test("ids of items may have another name in the table of items", async () => {
  const items = "ItemID,title\ni1,One\ni2,Two\n";
  const files = await given({ "rentals.csv": EVENTS, "films.csv": items }, { items: join(root, "shop", "films.csv") });
  const source = await describeFiles(files, access());
  const rows = await source.items!.query(source.body.schema.item.source!.query);
  expect(rows).toEqual([
    { item_id: "i1", title: "One" },
    { item_id: "i2", title: "Two" },
  ]);
});

describe("a table of items", () => {
  /** Its rows as a training reads them, what is said of it, and whether it can be trained on. */
  const read = async (name: string, items: string, interactions = EVENTS) => {
    const files = await given({ "rentals.csv": interactions, [name]: items }, { items: join(root, "shop", name) });
    const source = await describeFiles(files, access());
    const rows = await source.items!.query(ModelSpec.parse(source.body).schema.item.source!.query);
    return { rows, said: source.findings.split("\n").slice(1).join() };
  };

  test("has its ids in the column with those of the interactions", async () => {
    const csv = "sku,Variant SKU,rank\nx,i1,1\ny,i2,2\n";
    expect(await read("variants.csv", csv)).toEqual({
      rows: [
        { item_id: "i1", sku: "x", rank: "1" },
        { item_id: "i2", sku: "y", rank: "2" },
      ],
      said: "The ids of variants.csv are in its column Variant SKU.",
    });
  });
  test("may have no header", async () => {
    const interactions = "user_id,item_id,timestamp\nu1,11,100\nu2,12,200\n";
    const films = "11::One (1995)::a|b\n12::Two (1996)::b\n13::Three (1997)::a\n";
    const row = { item_id: "11", column1: "One (1995)", column2: "a|b" };
    expect((await read("films.dat", films, interactions)).rows[0]).toEqual(row);
  });
  test("has whole numbers as ids, also where they are written as fractions", async () => {
    const interactions = "user_id,item_id,timestamp\nu1,11,100\nu2,12,200\n";
    const csv = "number,code\n3,11.0\n11,12.0\n";
    expect((await read("films.csv", csv, interactions)).said).toContain("column code");
  });
  test("has no ids in a column whose values repeat", async () => {
    const interactions = "user_id,item_id,timestamp\nu1,11,100\nu2,12,200\nu2,13,300\n";
    const csv = `age,asin\n${["11,12", "11,77", "12,78", "12,79", "12,80", "11,81", "13,82"].join("\n")}\n`;
    expect((await read("films.csv", csv, interactions)).said).toContain("column asin");
  });
  test("without a known id has them in a column of a usual name", async () =>
    expect((await read("films.csv", "id,title\nx1,One\n")).rows).toEqual([{ item_id: "x1", title: "One" }]));
  test("needs a column of ids", async () => {
    const files = given(
      { "rentals.csv": EVENTS, "names.csv": "title\nOne\n" },
      { items: join(root, "shop", "names.csv") },
    );
    expect(await oneSentence(files)).toBe(
      '--items needs a column with the ids that are in the column "item_id" of --data; its columns are "title".',
    );
  });
  test("has the fields of its objects; places stay as they are", async () => {
    const place = { lat: 52.5, lon: 13.4 };
    const json = JSON.stringify([{ item_id: "i1", maker: { id: 7, town: "Bonn" }, maker_id: 1, place }]);
    expect((await read("shop.json", json)).rows).toEqual([
      { item_id: "i1", maker_id: "1", place, maker_id_: "7", maker_town: "Bonn" },
    ]);
  });
  test("may be a list in an object", async () => {
    const json = JSON.stringify({ total: 1, products: [{ id: "i1", size: { width: 2 }, tags: ["a"] }] });
    expect((await read("shop.json", json)).rows).toEqual([{ item_id: "i1", tags: ["a"], size_width: "2" }]);
  });
  test("keeps objects that have too many fields", async () => {
    const fields = (name: string) => Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`${name}${i}`, "x"]));
    const [details, more] = [fields("d"), fields("m")];
    expect((await read("shop.json", JSON.stringify({ item_id: "i1", details, more }))).rows).toEqual([
      { item_id: "i1", details, more },
    ]);
  });
});

test.each([
  [
    "orders.xlsx",
    "PK\u0003\u0004\u0014\u0000",
    "is a ZIP archive or an Excel workbook: unpack it, or save its table as CSV.",
  ],
  ["shop.db", "SQLite format 3\u0000", "is an SQLite database: write the table to a CSV file."],
  ["feed.csv", '\ufeff<?xml version="1.0"?><rss/>', "is XML or a web page: write its rows to a CSV or JSON file."],
  ["page.csv", "\n<!DOCTYPE html>\n<html></html>", "is XML or a web page: write its rows to a CSV or JSON file."],
  [
    "games.json",
    "{u'user_id': u'7', u'item_id': 1}\n",
    "has dictionaries of Python, which are not JSON: write them with json.dumps.",
  ],
])("%s is named as what it is", async (name, text, message) =>
  expect(await oneSentence(given({ [name]: text }))).toBe(`${JSON.stringify(name)} ${message}`),
);

test("a file whose users are sessions becomes a model of sessions", async () => {
  const rows = "session_id,item_id,created_at\n1,a,100\n1,b,200\n";
  const source = await describeFiles(await given({ "clicks.csv": rows }), access());
  const { interaction } = ModelSpec.parse(source.body).schema;
  expect(interaction.session_id).toBe("session_id");
  expect(source.findings).toMatch("The columns: session session_id, item item_id, time created_at");
});

test("files of the same name in different folders are not confused", async () => {
  const source = await describeFiles(await given({ "interactions.csv": EVENTS }), access());
  const other = join(root, "other");
  await mkdir(other);
  await writeFile(join(other, "interactions.csv"), EVENTS);
  const { location } = source.body.connector_configs[0]!;
  const found = await findFiles(location!, [other, ...source.folders]);
  expect(found.map(({ path }) => path)).toEqual([source.interactions.path]);
});

test("the file that is named is read, not one that its name matches as a pattern", async () => {
  const files = await given({ "data[1].csv": EVENTS, "data1.csv": "user_id,item_id\nwrong,wrong\n" });
  const source = await describeFiles(files, access());
  expect(source.interactions.path).toBe(join(root, "shop", "data[1].csv"));
  const rows = await source.interactions.query(source.body.schema.interaction.source.query);
  expect(rows.map((row) => row.user_id)).toEqual(["u1", "u1", "u2"]);
});

describe("the best-known public files", () => {
  const many = (row: (n: number) => string) => Array.from({ length: 60 }, (_, n) => `${row(n)}\n`).join("");
  const retailrocket = `timestamp,visitorid,event,itemid,transactionid\n${many((n) => `${1_433_221_332_117 + n},${n % 9},view,${n % 7},`)}`;
  const uci = `InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n${many(
    (n) =>
      `${536_365 + n},85123${"AB"[n % 2]},"HEART, £5",6,12/${(n % 28) + 1}/2010 8:26,2.55,${17_850 + (n % 9)},France`,
  )}`;
  const rees46 = `event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session\n${many(
    (n) =>
      `2019-11-01 00:00:${String(n).padStart(2, "0")} UTC,view,${1_003_461 + (n % 7)},2053013555631882655,a.b,xiaomi,489.07,${520_088_904 + (n % 9)},4d3b30da`,
  )}`;

  test.each([
    ["events.csv", retailrocket, { user: "visitorid", item: "itemid", time: "timestamp" }],
    ["online_retail.csv", uci, { user: "CustomerID", item: "StockCode", time: "InvoiceDate" }],
    ["2019-Nov.csv", rees46, { user: "user_id", item: "product_id", time: "event_time" }],
  ])("%s needs no flags", async (name, text, columns) => {
    await writeFile(join(root, "shop", name), Buffer.from(text, "latin1"));
    const files = { interactions: join(root, "shop", name), items: null, users: null, columns: {} };
    const source = await describeFiles(files, access());
    expect(source.columns).toMatchObject(columns);
    const rows = await source.interactions.query(source.body.schema.interaction.source.query);
    expect(rows).toHaveLength(50);
  });

  test.each([
    ["u.data", "\t"],
    ["ratings.dat", "::"],
  ])("%s is told which flags to give, and takes them", async (name, delimiter) => {
    const text = many((n) => [n % 9, n % 7, (n % 5) + 1, 881_250_949 + n].join(delimiter));
    const flags = "--user-column 1 --item-column 2 --time-column 4";
    expect(await oneSentence(given({ [name]: text }))).toMatch(`by position, such as ${flags}`);
    const columns = { user: "1", item: "2", label: "3", time: "4" };
    const source = await describeFiles(await given({ [name]: text }, { columns }), access());
    expect(source.columns).toMatchObject({ user: "column0", item: "column1", label: "column2", time: "column3" });
    expect(source.body.schema.interaction.label).toMatchObject({ type: "Rating", name: "column2" });
    ModelSpec.parse(source.body);
  });
});

test.each(["clicks", "clicks/**/*.csv"])("--data %s is one table of many files", async (name) => {
  for (const day of ["01", "02"]) {
    await mkdir(join(root, "shop", "clicks", `dt=2024-01-${day}`), { recursive: true });
    await writeFile(join(root, "shop", "clicks", `dt=2024-01-${day}`, "part-0.csv"), `user_id,item_id\nu${day},i1\n`);
  }
  const files = { interactions: join(root, "shop", name), items: null, users: null, columns: { time: "dt" } };
  const source = await describeFiles(files, access());
  expect(source.body.model_name).toBe("clicks");
  expect(source.folders).toEqual([join(root, "shop", "clicks")]);
  ModelSpec.parse(source.body);
  const rows = await source.interactions.query(source.body.schema.interaction.source.query);
  expect(rows.map((row) => `${row.user_id} ${row.dt}`)).toEqual(["u01 2024-01-01", "u02 2024-01-02"]);
});

test("files of two folders are both allowed and have full paths", async () => {
  await mkdir(join(root, "more"));
  await writeFile(join(root, "more", "catalogue.csv"), "id,title\ni1,One\n");
  const files = await given({ "rentals.csv": EVENTS }, { items: join(root, "more", "catalogue.csv") });
  const source = await describeFiles(files, access());
  expect(source.folders).toHaveLength(2);
  expect(source.body.connector_configs).toEqual([
    { id: "interactions", type: "File", location: join(root, "shop", "rentals.csv") },
    { id: "items", type: "File", location: join(root, "more", "catalogue.csv") },
    { id: "events", type: "Events" },
  ]);
  expect(source.body.schema.item.source).toEqual({
    connector_id: "items",
    query: 'SELECT "id" AS "item_id", * EXCLUDE ("id") FROM "catalogue"',
  });
  ModelSpec.parse(source.body);
});

test("given columns are used", async () => {
  const columns = { user: "b", item: "a", time: "c" };
  const source = await describeFiles(await given({ "x.csv": "a,b,c\n1,2,3\n" }, { columns }), access());
  expect(source.columns).toMatchObject({ ...columns, label: null });
  expect(source.body.schema.interaction.source.query).toBe('SELECT "b", "a", "c", true AS label FROM "x"');
  expect(source.findings).toBe("The columns: user b, item a, time c, no label, so every row is positive.");
});

test.each([
  ["1,0,1", { type: "Binary", name: "rating" }],
  ["true,false,true", { type: "Binary", name: "rating" }],
  ["1,2,9000", { type: "Rating", name: "rating", positive_from: 2 }],
])("the label values %s are read as %j", async (values, label) => {
  const rows = values.split(",").map((value, i) => `u${i},i1,${value}`);
  const source = await describeFiles(
    await given({ "x.csv": `user_id,item_id,rating\n${rows.join("\n")}\n` }),
    access(),
  );
  expect(source.body.schema.interaction).toMatchObject({ label, created_at: "created_at" });
});

test("the latest change of a file is known", async () => {
  const files = await given({ "rentals.csv": EVENTS, "items.csv": "id,title\ni1,One\n" });
  const items = join(root, "shop", "items.csv");
  const { changedMs } = await describeFiles({ ...files, items }, access());
  expect(changedMs).toBe((await stat(items)).ctimeMs);
});

test("an unreadable file and unclear columns are reported in one sentence", async () => {
  expect(await oneSentence(given({ "x.csv": "a,b,c\n1,2,3\n" }))).toMatch(
    /--user-column.*--item-column.*"a", "b", "c"/,
  );
  expect(await oneSentence(given({ "x.csv": EVENTS }, { columns: { time: "never" } }))).toContain('no column "never"');
  expect(await oneSentence(given({ "x.csv": "user_id,item_id\n" }))).toContain("has no rows");
  expect(await oneSentence(given({ "x.csv": "" }))).toMatch(/x\.csv/);
  expect(await oneSentence(given({ "x.parquet": "not parquet" }))).toContain("x.parquet");
  expect((await describeFiles(await given({ "x.txt": EVENTS }), access())).columns.user).toBe("user_id");
  await writeFile(join(root, "odd.csv"), "colour,size\nred,1\n");
  expect(await oneSentence(given({ "x.csv": EVENTS }, { items: join(root, "odd.csv") }))).toContain("--items");
});
