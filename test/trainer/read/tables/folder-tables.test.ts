import { expect, test } from "vitest";
import { areDifferent, flagsOf } from "../../../../trainer/read/tables/folder-tables.ts";

const tablesOf = (files: { readonly [file: string]: string }) =>
  Object.entries(files).map(([file, columns], i) => ({ file, columns: columns.split(" "), bytes: 100 - i }));

const SHOP = {
  "customers.csv": "customer_id email city",
  "staffs.csv": "staff_id email store_id manager_id",
  "order_items.csv": "order_id item_id product_id quantity",
  "orders.csv": "order_id customer_id order_date store_id",
  "products.csv": "product_id name brand_id",
  "stocks.csv": "store_id product_id quantity",
};

test.each<[string, { readonly [file: string]: string }, { readonly [flag: string]: string }]>([
  [
    "a shop's database",
    SHOP,
    { data: "order_items.csv", orders: "orders.csv", items: "products.csv", users: "customers.csv" },
  ],
  [
    "tables with an id of their own",
    {
      "order_items.csv": "id order_id product_id",
      "orders.csv": "id customer_id status created_at",
      "products.csv": "id name",
      "customers.csv": "id name city",
    },
    { data: "order_items.csv", orders: "orders.csv", items: "products.csv", users: "customers.csv" },
  ],
  [
    "ratings",
    { "movies.csv": "movieId title genres", "ratings.csv": "userId movieId rating", "tags.csv": "userId movieId tag" },
    { data: "ratings.csv", items: "movies.csv" },
  ],
  [
    "ids of another name",
    { "shoes.csv": "shoe_id brand", "actions.csv": "user_id shoe_id action", "users.csv": "user_id age" },
    { data: "actions.csv", items: "shoes.csv", users: "users.csv" },
  ],
  [
    "interactions of several kinds",
    {
      "ratings.csv": "user_id movie_id rating",
      "reviews.csv": "user_id product_id text",
      "movies.csv": "movie_id title",
    },
    { data: "ratings.csv", items: "movies.csv" },
  ],
  [
    "reviews beside orders",
    { "reviews.csv": "user_id product_id text", "lines.csv": "order_id product_id", "orders.csv": "order_id user_id" },
    { data: "lines.csv", orders: "orders.csv" },
  ],
  [
    "carts beside orders, and sizes of products",
    {
      "cart_data.csv": "CartItemID CustomerID ProductSizeID",
      "order_items.csv": "OrderItemID OrderID ProductSizeID",
      "orders.csv": "OrderID DateTime CustomerID",
    },
    { data: "order_items.csv", orders: "orders.csv" },
  ],
  [
    "what a shop orders itself",
    {
      "purchase_order_details.csv": "id purchase_order_id product_id unit_cost",
      "order_details.csv": "id order_id product_id",
      "orders.csv": "id customer_id order_date",
    },
    { data: "order_details.csv", orders: "orders.csv" },
  ],
  [
    "books with authors, and several tables of customers",
    {
      "books.csv": "book_id author_id title",
      "cart_abandonment.csv": "customer_id minutes",
      "order_details.csv": "order_id book_id",
      "orders.csv": "order_id customer_id",
      "customer_profiles.csv": "customer_id city",
    },
    { data: "order_details.csv", orders: "orders.csv", items: "books.csv", users: "customer_profiles.csv" },
  ],
  [
    "pages beside orders, and an id in capitals",
    {
      "events.csv": "USER_ID PAGE_URL EVENT_TYPE",
      "order_lines.csv": "ID QUANTITY PRODUCT_ID ORDER_ID",
      "orders.csv": "ID PROCESSED_TIMESTAMP CUSTOMER_ID",
    },
    { data: "order_lines.csv", orders: "orders.csv" },
  ],
  [
    "who made a film, and who saw it",
    { "crew.csv": "movie_id crew_person_id", "views.csv": "movie_id user_id datetime", "movies.csv": "id movie_name" },
    { data: "views.csv", items: "movies.csv" },
  ],
  [
    "carts beside purchases, and a name in the plural",
    {
      "cart_items.csv": "user_id property_id added_at",
      "purchases.csv": "user_id property_id bought_at",
      "offers.csv": "property_id rent",
      "properties.csv": "id city",
    },
    { data: "purchases.csv", items: "properties.csv" },
  ],
  [
    "the tables of Magento",
    {
      "catalog_product_entity.csv": "entity_id sku created_at",
      "sales_order_item.csv": "item_id order_id product_id",
      "sales_order.csv": "entity_id customer_id created_at",
    },
    { data: "sales_order_item.csv", orders: "sales_order.csv", items: "catalog_product_entity.csv" },
  ],
  [
    "the tables of PrestaShop",
    {
      "ps_orders.csv": "id_order reference id_customer date_add",
      "ps_order_detail.csv": "id_order_detail id_order product_id",
      "ps_product.csv": "id_product ean13 price",
      "ps_customer.csv": "id_customer email",
    },
    { data: "ps_order_detail.csv", orders: "ps_orders.csv", items: "ps_product.csv", users: "ps_customer.csv" },
  ],
  ["no interactions", { "stores.csv": "store_id name", "prices.csv": "day price" }, {}],
])("%s", (_, files, flags) => {
  expect(areDifferent(tablesOf(files))).toBe(true);
  expect(flagsOf(tablesOf(files))).toEqual(flags);
});

test.each([
  [{ "1.csv": "user item time", "2.csv": "user item time" }, false],
  [{ "1.csv": "user item time", "2.csv": "user item time price" }, false],
  [{ "1.csv": "user item", "2.csv": "item price brand" }, true],
  [{ "1.csv": "user item" }, false],
])("the files of %j are different tables: %s", (files, different) =>
  expect(areDifferent(tablesOf(files))).toBe(different),
);
