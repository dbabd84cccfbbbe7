import { describe, expect, test } from "vitest";
import {
  guessColumns,
  guessEventColumn,
  guessIdColumn,
  guessIdColumnByRole,
  guessQuantityColumn,
  guessSessionColumn,
} from "../../shared/guess-columns.ts";

const guessed = (user: string, item: string, time: string | null, label: string | null) => ({
  kind: "guessed",
  user,
  item,
  time,
  label,
});

test.each([
  [["user_id", "item_id", "created_at", "rating", "label"], guessed("user_id", "item_id", "created_at", "label")],
  [["userId", "movieId", "rating", "timestamp"], guessed("userId", "movieId", "timestamp", "rating")],
  [["reviewerID", "asin", "overall", "unixReviewTime"], guessed("reviewerID", "asin", "unixReviewTime", "overall")],
  [["timestamp", "visitorid", "event", "itemid"], guessed("visitorid", "itemid", "timestamp", null)],
  [["CustomerID", "StockCode", "InvoiceDate"], guessed("CustomerID", "StockCode", "InvoiceDate", null)],
  [
    ["user_id:token", "item_id:token", "timestamp:float"],
    guessed("user_id:token", "item_id:token", "timestamp:float", null),
  ],
  [["session_id", "user_id", "product_id", "event_time"], guessed("user_id", "product_id", "event_time", null)],
  [["session", "sku", "ts"], guessed("session", "sku", "ts", null)],
  [["Customer Id", "Product Id"], guessed("Customer Id", "Product Id", null, null)],
  [["shop_user_id", "shop_item_id", "order_date"], guessed("shop_user_id", "shop_item_id", "order_date", null)],
  [["u", "i", "t"], guessed("u", "i", "t", null)],
  [["Name", "Email", "Created at", "Lineitem sku"], guessed("Email", "Lineitem sku", "Created at", null)], // Shopify
  [["User-ID", "ISBN", "Book-Rating"], guessed("User-ID", "ISBN", null, "Book-Rating")],
  [["Transaction", "Item"], guessed("Transaction", "Item", null, null)], // nothing says who bought
  [["order_id", "customer_no", "sku"], guessed("customer_no", "sku", null, null)],
  [["session", "event_aid", "ts"], guessed("session", "event_aid", "ts", null)], // OTTO
  [["book_id", "user_id", "date_added"], guessed("user_id", "book_id", "date_added", null)], // Goodreads
  [["user_id", "product_id", "interaction"], guessed("user_id", "product_id", null, "interaction")],
  [
    ["cart_item_id", "customer_id", "product_size_id"], // the number of the row is no item
    guessed("customer_id", "product_size_id", null, null),
  ],
  [["user_id", "course_title", "rating"], guessed("user_id", "course_title", null, "rating")],
  [["cookie", "webpage", "date"], guessed("cookie", "webpage", "date", null)],
  [["user_objectid", "item_objectid", "createdat"], guessed("user_objectid", "item_objectid", "createdat", null)],
  [
    ["entityId", "event", "targetEntityId", "eventTime"], // PredictionIO
    guessed("entityId", "targetEntityId", "eventTime", null),
  ],
  [["customer_id", "entity_id"], guessed("customer_id", "entity_id", null, null)],
  [["mail", "product_id"], guessed("mail", "product_id", null, null)],
  [["id_customer", "id_product", "date_add"], guessed("id_customer", "id_product", null, null)], // PrestaShop
  [["idCliente", "id_produto"], guessed("idCliente", "id_produto", null, null)],
  [["partner_id", "product_id", "date_order"], guessed("partner_id", "product_id", null, null)], // Odoo
  [
    ["Order Number", "Buyer Username", "Buyer Name", "Item Number", "Sale Date"], // eBay
    guessed("Buyer Username", "Item Number", null, null),
  ],
  [["Kunde", "Artikel"], guessed("Kunde", "Artikel", null, null)],
])("%j", (columns, expected) => expect(guessColumns(columns)).toEqual(expected));

test.each([
  ["the id of a login that most rows lack", ["", "", "u7"], "user_pseudo_id"],
  ["the same, in most rows", ["u7", "", "u7"], "user_id"],
])("%s", (_, logins, user) => {
  const rows = logins.map((user_id, n) => ({ user_id, item_id: `i${n}`, user_pseudo_id: `${n}.1` }));
  expect(guessColumns(Object.keys(rows[0]!), {}, rows)).toMatchObject({ user });
  expect(guessColumns(["user_id", "item_id"], {}, rows)).toMatchObject({ user: "user_id" });
});

describe("a time without a common name", () => {
  const timeOf = (values: Record<string, unknown>) => {
    const row = { user_id: "u1", item_id: "i1", ...values };
    const guess = guessColumns(Object.keys(row), {}, [row]);
    return guess.kind === "guessed" ? guess.time : guess;
  };
  test.each<[string, Record<string, unknown>, string | null]>([
    ["its name ends like a time", { visit_date: "11/24/1997" }, "visit_date"],
    ["the same, and its values are numbers", { PURCHASE_TS: 874_724_710 }, "PURCHASE_TS"],
    ["the first of several", { approved_at: "2024-01-02", shipped_at: "2024-01-03" }, "approved_at"],
    ["it is the only column of dates", { Datum: "24.11.1997" }, "Datum"],
    ["numbers of another meaning", { barcode: 4_006_381_333_931 }, null],
    ["two columns of dates", { a: "2024-01-02", b: "2024-01-03" }, null],
    ["times of a person and of an item", { birth_date: "1990-01-02", release_date: "1997-03-04" }, null],
    ["a name like a time, and other values", { flight_time: "long" }, null],
  ])("%s", (_, values, expected) => expect(timeOf(values)).toBe(expected));
});

test.each<[string[], string | undefined]>([
  [["order_id", "item_id", "product_id", "quantity"], "product_id"], // the number of the line
  [["order_id", "item_id", "product_name"], "item_id"],
  [["order_id", "customer_id", "location_id", "order_date"], undefined], // the branch
  [["user_id", "location_id", "time"], "location_id"],
  [["order_id", "customer_name", "product_name", "order_date"], "product_name"],
  [["user_id", "shoe_id", "action"], "shoe_id"],
  [["user_id", "interaction_id", "shoe_id"], "shoe_id"],
  [["order_id", "customer_id", "store_id"], undefined],
  [["id", "order_number", "user_id", "total", "warranty_id"], undefined],
  [["purchase_id", "user_id", "payment_id"], undefined],
  [["u_id", "h_id", "rate"], "h_id"],
  [["user_id", "session_id", "event_type"], undefined],
])("the item of %j is %s", (columns, item) => {
  const guess = guessColumns(columns);
  expect(guess.kind === "guessed" ? guess.item : undefined).toBe(item);
});

test("of several ids with unknown names, the one that repeats is the item", () => {
  const columns = ["registration_id", "event_id", "customer_id"];
  const sample = [1, 2, 3].map((n) => ({ registration_id: n, event_id: 7, customer_id: n }));
  expect(guessColumns(columns, {}, sample)).toMatchObject({ user: "customer_id", item: "event_id" });
  expect(guessColumns(columns)).toMatchObject({ kind: "unclear" });
  expect(guessColumns(["product_id", "brand_id", "store_id", "main_category_id", "request_id"]).kind).toBe("unclear");
  expect(guessColumns(["product_id", "brand_id", "shopper_code_id"])).toMatchObject({ user: "shopper_code_id" });
  expect(guessColumns(["trainee_id", "course_id", "event"])).toMatchObject({ user: "trainee_id", item: "course_id" });
});

test("objects are no ids", () =>
  expect(
    guessColumns(["user", "visitor_id", "item_id"], {}, [{ user: { id: 1 }, visitor_id: "a", item_id: "i" }]),
  ).toEqual(guessed("visitor_id", "item_id", null, null)));

test("the ids of a table of items are in the column of the same name, or of nearly the same, or of a usual one", () => {
  expect(guessIdColumn("itemid", ["item_id", "itemid"])).toBe("itemid");
  expect(guessIdColumn("movieId", ["id", "Movie_ID"])).toBe("Movie_ID");
  expect(guessIdColumn("sku", ["name", "product"])).toBeUndefined();
  expect(guessIdColumnByRole("item", ["name", "product", "_id"])).toBe("_id");
  expect(guessIdColumnByRole("item", ["name", "product"])).toBe("product");
  expect(guessIdColumnByRole("user", ["name", "product"])).toBeUndefined();
  expect(guessIdColumnByRole("order", ["customer_id", "invoice_no"])).toBe("invoice_no");
});

test("a column that was given is not guessed for another role", () =>
  expect(guessColumns(["user_id", "customer_id", "sku"], { user: "customer_id" })).toEqual(
    guessed("customer_id", "sku", null, null),
  ));
test("a role that cannot be guessed is reported with its flag and the columns", () =>
  expect(guessColumns(["a", "b", "created_at"])).toEqual({
    kind: "unclear",
    reasons: [
      "No column looks like the user's id: name it with --user-column",
      "No column looks like the item's id: name it with --item-column",
      'The columns are "a", "b", "created_at"',
    ],
  }));
test("a given column that does not exist is reported", () =>
  expect(guessColumns(["user_id", "item_id"], { time: "when" })).toEqual({
    kind: "unclear",
    reasons: ['There is no column "when" for the time', 'The columns are "user_id", "item_id"'],
  }));
test("one column never gets two roles", () => {
  const { kind, ...rest } = guessColumns(["user_id_item_id"]);
  expect(kind).toBe("unclear");
  expect(JSON.stringify(rest)).toContain("the item's id");
});
test("a column that is given for two roles is reported", () =>
  expect(guessColumns(["id", "item_id"], { user: "id", item: "id", time: undefined, label: undefined })).toEqual({
    kind: "unclear",
    reasons: ['The column "id" is given for the user and for the item'],
  }));
test("columns are also given by position, unless a column has the number for a name", () => {
  const names = ["column0", "column1", "column2", "column3"];
  expect(guessColumns(names, { user: "1", item: "2", time: "4" })).toEqual({
    kind: "guessed",
    user: "column0",
    item: "column1",
    time: "column3",
    label: null,
  });
  expect(guessColumns(["1", "2"], { user: "2", item: "1" })).toMatchObject({ user: "2", item: "1" });
  expect(guessColumns(["a", "b"], { user: "3" })).toMatchObject({ kind: "unclear" });
});

test("a time is not proposed for an item", () =>
  expect(
    guessColumns(["column0", "column1", "column2"], {}, [{ a: "1", b: "2014-04-07", c: "214536502" }]),
  ).toMatchObject({
    reasons: [expect.stringMatching("--user-column 1 --item-column 3 --time-column 2$")],
  }));

test("types of events are not proposed for an item", () => {
  const sample = Array.from({ length: 20 }, (_, n) => ({
    a: n,
    b: n % 3 === 0 ? "view" : "cart",
    c: `thing ${n % 9}`,
  }));
  expect(guessColumns(["column0", "column1", "column2"], {}, sample)).toMatchObject({
    reasons: [expect.stringMatching("--user-column 1 --item-column 3$")],
  });
});

test("columns without names are asked for by position", () =>
  expect(guessColumns(["column0", "column1", "column2"], {}, [{ a: "196", b: "242", c: "881250949" }])).toEqual({
    kind: "unclear",
    reasons: [
      "The first line looks like data, not like names of columns (196, 242, 881250949): say which is which by position, such as --user-column 1 --item-column 2 --time-column 3",
    ],
  }));

test("the time among columns without names is a date, or the last number that may be one", () => {
  const reasonsFor = (...values: string[]) =>
    guessColumns(
      values.map((_, i) => `column${i}`),
      {},
      [Object.fromEntries(values.map((value, i) => [`column${i}`, value]))],
    );
  const asked = (end: string) => ({ reasons: [expect.stringMatching(`${end}$`)] });
  expect(reasonsFor("A1GQ", "1581165001", "5", "1167264000")).toMatchObject(asked("--item-column 2 --time-column 4"));
  expect(reasonsFor("2024-01-02", "u7", "1581165001")).toMatchObject(asked("--item-column 3 --time-column 1"));
});

test("an entity without a target is no user", () =>
  expect(guessColumns(["entity_id", "website_id", "sku"])).toMatchObject({
    reasons: expect.arrayContaining([expect.stringContaining("user")]),
  }));

test("a table without columns", () => expect(guessColumns([]).kind).toBe("unclear"));

test("a column of sessions is recognised by its name", () => {
  const columns = [
    ["user_id", "sessionId", "sku"],
    ["user_id", "user_session"],
    ["user_id", "sku"],
  ];
  expect(columns.map(guessSessionColumn)).toEqual(["sessionId", "user_session", undefined]);
});

test.each([
  [["event_time", "event_type", "product_id"], "event_type", undefined],
  [["timestamp", "visitorid", "event", "itemid"], "event", undefined],
  [["InvoiceNo", "StockCode", "Quantity"], undefined, "Quantity"],
  [["user_id", "event_date"], undefined, undefined],
])("types of events and quantities in %j", (columns, event, quantity) => {
  expect(guessEventColumn(columns)).toBe(event);
  expect(guessQuantityColumn(columns)).toBe(quantity);
});
