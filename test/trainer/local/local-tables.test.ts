import { mkdir, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { describeFiles } from "../../../trainer/local/local-source.ts";
import { EVENTS, localFiles } from "../../fixtures/local-files.ts";

const { path, access, given, oneSentence } = localFiles();

describe("a table of items", () => {
  /** Its rows as a training reads them, what is said of it, and whether it can be trained on. */
  const read = async (name: string, items: string, interactions = EVENTS) => {
    const files = await given({ "rentals.csv": interactions, [name]: items }, { items: path("shop", name) });
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
    const files = given({ "rentals.csv": EVENTS, "names.csv": "title\nOne\n" }, { items: path("shop", "names.csv") });
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
  test("may be exported by MongoDB", async () => {
    const oid = "0123456789abcdef01234567";
    const json = JSON.stringify({ _id: { $oid: oid }, tags: [{ $oid: oid }], size: { w: { $numberInt: "2" } } });
    const interactions = `user_id,item_id\nu1,${oid}\nu2,${oid}\n`;
    const row = { item_id: oid, tags: [oid], size_w: "2" };
    expect((await read("shop.json", json, interactions)).rows).toEqual([row]);
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

test("a folder of different tables is told apart, and parts of one table are not", async () => {
  const folder = path("shop");
  const films = "item_id,title\ni1,One\n";
  const files = { "clicks.csv": EVENTS, "more.csv": EVENTS, "it's films.csv": films, "empty.csv": "id,name\n" };
  const inFolder = async (names: (keyof typeof files)[]) => {
    const written = Object.fromEntries(names.map((name) => [name, files[name]]));
    return { ...(await given(written)), interactions: folder };
  };
  const source = await describeFiles(await inFolder(["clicks.csv", "more.csv"]), access());
  expect(source.columns).toMatchObject({ user: "user_id", item: "item_id" });
  expect(await oneSentence(inFolder(["it's films.csv", "empty.csv"]))).toBe(
    `The files of ${folder} have different columns, so they are not one table: name them, such as ` +
      `--data ${path("shop", "clicks.csv")} --items '${path("shop", "it'\\''s films.csv")}'.`,
  );
});

describe("lines of orders", () => {
  const LINES = "order_id,line,product_id,note\n007,1,a,x\n007,2,b,y\n8,1,a,z\n9,1,b,w\n";
  const read = async (orders: string) => {
    await mkdir(path("till"));
    await writeFile(path("till", "orders.csv"), orders);
    const files = await given({ "lines.csv": LINES }, { orders: path("till", "orders.csv") });
    const source = await describeFiles(files, access());
    const rows = await source.interactions.query(ModelSpec.parse(source.body).schema.interaction.source!.query);
    return { rows, source };
  };

  test("have the customers and times of their orders", async () => {
    const { rows, source } = await read("id,customer_id,note,order_date\n007,ann,n,2024-01-02\n8,bob,n,2024-01-03\n");
    const found = rows.map(({ customer_id, product_id }) => `${customer_id} ${product_id}`);
    expect(found.sort()).toEqual(["ann a", "ann b", "bob a", "null b"]);
    expect(source.columns).toMatchObject({ user: "customer_id", item: "product_id", time: "order_date" });
    expect(source.folders).toEqual([path("shop"), path("till")]);
    const columns = ["order_id", "line", "product_id", "note", "customer_id", "order_date"];
    expect(source.interactions.columns).toEqual(columns);
    const texts = await source.interactions.withIds(`FROM ${source.interactions.name}`);
    expect(await source.interactions.query(`FROM ${texts} WHERE product_id = 'b' AND note = 'y'`)).toHaveLength(1);
  });
  test("are left out where the order was cancelled", async () => {
    const orders = "order_id,user,status\n007,ann,completed\n8,bob,cancelled\n9,ann,completed\n";
    const { interaction } = (await read(orders)).source.body.schema;
    expect(interaction.label).toMatchObject({ type: "Events", name: "status", positive: ["completed"] });
  });
  test("are sessions without the orders, and orders need their lines", async () => {
    const { findings } = await describeFiles(await given({ "lines.csv": LINES }), access());
    expect(findings).toContain("session order_id, item product_id");
    expect(findings).toContain("--orders FILE adds them");
    const orders = given({ "orders.csv": "order_id,customer_id\n7,ann\n" });
    expect(await oneSentence(orders)).toContain("this one is --orders");
  });
  test("must name their orders", async () => {
    const orders = { orders: path("shop", "orders.csv") };
    const files = given({ "a.csv": EVENTS, "orders.csv": "id,user\n1,ann\n" }, orders);
    expect(await oneSentence(files)).toContain("--orders needs a column with the id of the order");
  });
});

test.each([
  [
    "orders.xlsx",
    "PK\u0003\u0004\u0014\u0000",
    "is a ZIP archive or an Excel workbook: unpack it, or save its table as CSV.",
  ],
  [
    "orders.csv",
    "version https://git-lfs.github.com/spec/v1\noid sha256:9\n",
    "is only a pointer of Git LFS: fetch the file with git lfs pull.",
  ],
  ["shop.db", "SQLite format 3\u0000", "is an SQLite database: write the table to a CSV file."],
  ["feed.csv", '\ufeff<?xml version="1.0"?><rss/>', "is XML or a web page: write its rows to a CSV or JSON file."],
  ["page.csv", "\n<!DOCTYPE html>\n<html></html>", "is XML or a web page: write its rows to a CSV or JSON file."],
  [
    "dump.sql",
    "--\n-- PostgreSQL database dump",
    "has statements of SQL: load it into a database, and write the table to a CSV file.",
  ],
  [
    "shop.sql",
    "INSERT INTO `orders` VALUES (1,2),(3,4);",
    "has statements of SQL: load it into a database, and write the table to a CSV file.",
  ],
  [
    "games.json",
    "{u'user_id': u'7', u'item_id': 1}\n",
    "has dictionaries of Python, which are not JSON: write them with json.dumps.",
  ],
])("%s is named as what it is", async (name, text, message) =>
  expect(await oneSentence(given({ [name]: text }))).toBe(`${JSON.stringify(name)} ${message}`),
);
