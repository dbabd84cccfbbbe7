import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { describeFiles } from "../../../trainer/local/local-source.ts";
import { findFiles } from "../../../trainer/read/connectors/duckdb/files.ts";
import { EVENTS, localFiles } from "../../fixtures/local-files.ts";

const { path, access, given, oneSentence } = localFiles();

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

  test.each([3, 300])("the columns of %i numbered rows, as pandas writes them", async (count) => {
    const column = (value: (row: number) => unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_, row) => [row, value(row)]));
    const table = {
      user_id: column((row) => `u${row}`),
      item_id: column((row) => row % 7),
      rating: column((row) => (row === 1 ? "none" : row)),
    };
    const rows = await read([table]);
    expect(rows).toHaveLength(Math.min(count, 50));
    expect(rows[2]).toMatchObject({ user_id: "u2", item_id: "2" });
  });

  test("the fields of objects in an object, as Elasticsearch writes them", async () => {
    const row = {
      _id: "1",
      _source: { user: { id: "ann" }, product: { id: "p0" }, "@timestamp": "2024-01-01T00:00:00Z" },
    };
    const [event] = await read([row]);
    expect(Object.keys(event!)).toEqual(["_source_user_id", "_source_product_id", "_source_@timestamp", "label"]);
    expect(event).toMatchObject({ _source_user_id: "ann", _source_product_id: "p0" });
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

  test("a list of orders, and of carts with items", async () => {
    const orders = [1, 2].map((n) => ({
      user_id: `u${n}`,
      cart: [
        { _id: n, sku: "a" },
        { _id: n, sku: "b" },
      ],
    }));
    expect((await read([{ orders, total: 2 }])).map(({ user_id, cart_sku }) => `${user_id} ${cart_sku}`)).toEqual([
      "u1 a",
      "u1 b",
      "u2 a",
      "u2 b",
    ]);
  });

  test("the items of a user's orders", async () => {
    const orders = (...days: string[]) =>
      days.map((date) => ({ id: 1, date, items: [{ sku: `a${date}` }, { sku: "b" }] }));
    const rows = await read([
      { user_id: "u1", orders: orders("2024-01-01", "2024-01-02") },
      { user_id: "u2", orders: [] },
    ]);
    expect(
      rows.map(({ user_id, order_date, order_item_sku }) => [user_id, order_date, order_item_sku].join(" ")),
    ).toEqual(["u1 2024-01-01 a2024-01-01", "u1 2024-01-01 b", "u1 2024-01-02 a2024-01-02", "u1 2024-01-02 b"]);
  });

  test("values as MongoDB exports them", async () => {
    const id = (n: number) => ({ $oid: `${n}`.padStart(24, "0") });
    const rows = [1, 2].map((n) => ({
      _id: id(n),
      user: id(7),
      products: [{ _id: id(n + 30), product: id(n + 40), price: { $numberDecimal: "9.5" } }, null],
      at: { $date: { $numberLong: `${1_700_000_000_000 + n}` } },
    }));
    expect(await read([...rows, { ...rows[0], products: null }])).toMatchObject([
      { user: id(7).$oid, product_product: id(41).$oid, at: "1700000000001" },
      { user: id(7).$oid, product_product: null },
      { user: id(7).$oid, product_product: id(42).$oid, at: "1700000000002" },
      { user: id(7).$oid, product_product: null },
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

test("rows without an item are left out where they are most of the rows", async () => {
  const rows = (count: number) => ["u1,i1,buy", ...Array.from({ length: count }, (_, n) => `u${n},,join`)];
  const read = async (count: number) => {
    const text = ["user_id,product_id,event_type", ...rows(count), "u2,i1,view", ""].join("\n");
    const { findings, interactions } = await describeFiles(await given({ "log.csv": text }), access());
    return { findings, rows: await interactions.query(`FROM ${interactions.name}`) };
  };
  const log = await read(3);
  expect(log.findings).toContain("3 of 5 rows have no product_id: they are left out.");
  expect(log.findings).not.toContain("join");
  expect(log.rows).toHaveLength(2);
  expect((await read(2)).rows).toHaveLength(4);
});

test("orders of unknown customers are sessions", async () => {
  const text = "Transaction,Item,created_at\n1,Bread,100\n1,Jam,100\n";
  const source = await describeFiles(await given({ "bakery.csv": text }), access());
  expect(source.body.schema.interaction.session_id).toBe("Transaction");
  expect(source.findings).toContain("session Transaction, item Item");
});

test("ids of items may have another name in the table of items", async () => {
  const items = "ItemID,title\ni1,One\ni2,Two\n";
  const files = await given({ "rentals.csv": EVENTS, "films.csv": items }, { items: path("shop", "films.csv") });
  const source = await describeFiles(files, access());
  const rows = await source.items!.query(source.body.schema.item.source!.query);
  expect(rows).toEqual([
    { item_id: "i1", title: "One" },
    { item_id: "i2", title: "Two" },
  ]);
});

test("a file whose users are sessions becomes a model of sessions", async () => {
  const rows = "session_id,item_id,created_at\n1,a,100\n1,b,200\n";
  const source = await describeFiles(await given({ "clicks.csv": rows }), access());
  const { interaction } = ModelSpec.parse(source.body).schema;
  expect(interaction.session_id).toBe("session_id");
  expect(source.findings).toMatch("The columns: session session_id, item item_id, time created_at");
});

test("files of the same name in different folders are not confused", async () => {
  const source = await describeFiles(await given({ "interactions.csv": EVENTS }), access());
  const other = path("other");
  await mkdir(other);
  await writeFile(join(other, "interactions.csv"), EVENTS);
  const { location } = source.body.connector_configs[0]!;
  const found = await findFiles(location!, [other, ...source.folders]);
  expect(found.map(({ path }) => path)).toEqual([source.interactions.path]);
});

test("the file that is named is read, not one that its name matches as a pattern", async () => {
  const files = await given({ "data[1].csv": EVENTS, "data1.csv": "user_id,item_id\nwrong,wrong\n" });
  const source = await describeFiles(files, access());
  expect(source.interactions.path).toBe(path("shop", "data[1].csv"));
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
    await writeFile(path("shop", name), Buffer.from(text, "latin1"));
    const files = { interactions: path("shop", name), items: null, users: null, columns: {} };
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
    await mkdir(path("shop", "clicks", `dt=2024-01-${day}`), { recursive: true });
    await writeFile(path("shop", "clicks", `dt=2024-01-${day}`, "part-0.csv"), `user_id,item_id\nu${day},i1\n`);
  }
  const files = { interactions: path("shop", name), items: null, users: null, columns: { time: "dt" } };
  const source = await describeFiles(files, access());
  expect(source.body.model_name).toBe("clicks");
  expect(source.folders).toEqual([path("shop", "clicks")]);
  ModelSpec.parse(source.body);
  const rows = await source.interactions.query(source.body.schema.interaction.source.query);
  expect(rows.map((row) => `${row.user_id} ${row.dt}`)).toEqual(["u01 2024-01-01", "u02 2024-01-02"]);
});

test("files of two folders are both allowed and have full paths", async () => {
  await mkdir(path("more"));
  await writeFile(path("more", "catalogue.csv"), "id,title\ni1,One\n");
  const files = await given({ "rentals.csv": EVENTS }, { items: path("more", "catalogue.csv") });
  const source = await describeFiles(files, access());
  expect(source.folders).toHaveLength(2);
  expect(source.body.connector_configs).toEqual([
    { id: "interactions", type: "File", location: path("shop", "rentals.csv") },
    { id: "items", type: "File", location: path("more", "catalogue.csv") },
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
  const items = path("shop", "items.csv");
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
  await writeFile(path("odd.csv"), "colour,size\nred,1\n");
  expect(await oneSentence(given({ "x.csv": EVENTS }, { items: path("odd.csv") }))).toContain("--items");
});
