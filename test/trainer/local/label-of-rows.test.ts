import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { describeFiles } from "../../../trainer/local/local-source.ts";
import type { GivenFiles } from "../../../trainer/local/start-flags.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "label-"));
  await mkdir(join(root, "temp"));
});
afterEach(() => rm(root, { recursive: true }));

async function describe(lines: readonly string[], more: Partial<GivenFiles> = {}) {
  const interactions = join(root, "events.csv");
  await writeFile(interactions, `${lines.join("\n")}\n`);
  const access = { model: null, tempDirectory: join(root, "temp"), signal: new AbortController().signal };
  const source = await describeFiles({ interactions, items: null, users: null, columns: {}, ...more }, access);
  const { interaction } = ModelSpec.parse(source.body).schema;
  const { query } = interaction.source;
  return { ...interaction, findings: source.findings, rows: await source.interactions.query(query) };
}

const SHOP = [
  "event_time,event_type,product_id,user_id,user_session",
  ..."view view view view cart cart remove_from_cart purchase"
    .split(" ")
    .map((type, i) => `${100 + i},${type},${i},u,s`),
];

test("types of events are positive, except those that undo one, and what they count is found", async () => {
  const { label, events, findings, session_id } = await describe(SHOP);
  expect(label).toEqual({ type: "Events", name: "event_type", positive: ["purchase", "cart", "view"] });
  expect(events).toMatchObject({
    view: { label: true },
    remove_from_cart: { label: false },
    purchase: { label: true },
  });
  expect(findings).toContain("type of event event_type (positive: purchase, cart, view;");
  expect(findings).toContain("view (4 rows), cart (2 rows), purchase (1 rows), remove_from_cart (1 rows)");
  expect(findings).toContain("With --positive purchase,cart, only those count as wanted.");
  expect(findings).toContain("--session-column user_session");
  expect(session_id).toBeUndefined();
});

test("given types and sessions are taken", async () => {
  const { label, events, findings, session_id, rows } = await describe(SHOP, {
    positive: ["purchase", "cart"],
    session: "user_session",
  });
  expect(label).toEqual({ type: "Events", name: "event_type", positive: ["purchase", "cart"] });
  expect(events).toMatchObject({ view: { label: false }, purchase: { label: true } });
  expect(findings).toContain("type of event event_type (positive: purchase, cart, 38 % of the rows)");
  expect(findings).not.toContain("With --positive");
  expect(session_id).toBe("user_session");
  expect(rows[0]).toMatchObject({ event_type: "view", user_session: "s" });
});

test("types that no row has, a missing column and a missing session are one sentence each", async () => {
  await expect(describe(SHOP, { positive: ["Purchase"] })).rejects.toThrow(
    /no row has Purchase in event_type; its types are view/,
  );
  const plain = ["user_id,item_id", "u,i"];
  await expect(describe(plain, { positive: ["a"] })).rejects.toThrow(/name it with --label-column/);
  await expect(describe(plain, { session: "s" })).rejects.toThrow('no column "s"');
});

test.each([
  [["4,5", "2,0", "3,5"], 3.5, [4.5, 2, 3.5]],
  [["4/5", "1/5", "5/5"], 4, [4, 1, 5]],
  [["4.0 out of 5 stars", "1.0 out of 5 stars", ""], 4, [4, 1, null]],
])("ratings are read from %j", async (ratings, positive_from, expected) => {
  const { label, rows } = await describe([
    "user_id;item_id;rating",
    ...ratings.map((rating, i) => `u${i};i;${rating}`),
  ]);
  expect(label).toEqual({ type: "Rating", name: "rating", positive_from });
  expect(rows.map((row) => row.rating)).toEqual(expected);
});

test("a label of words is a type of event; yes and no are none", async () => {
  const reactions = await describe(["user_id,item_id,reaction", "u,a,like", "u,b,dislike", "v,a,like", "v,b,love"]);
  expect(reactions.label).toEqual({ type: "Events", name: "reaction", positive: ["love", "like"] });
  const answers = await describe(["user_id,item_id,liked", "u,a,Yes", "u,b,No", "v,a,"]);
  expect(answers.label).toEqual({ type: "Binary", name: "liked" });
});

test("orders that were not kept are no positive rows", async () => {
  const { label } = await describe(["user_id,item_id,order_status", "u,a,paid", "u,b,voided", "v,a,refunded"]);
  expect(label).toEqual({ type: "Events", name: "order_status", positive: ["paid"] });
});

test("a label comes before types of events, which are offered; rows without a type keep every row positive", async () => {
  const rated = await describe(["user_id,item_id,rating,action", "u,a,5,buy", "u,b,1,view", "v,a,4,view"]);
  expect(rated.label).toMatchObject({ type: "Rating", name: "rating" });
  expect(rated.findings).toContain(
    "The types of event in action are view (2 rows), buy (1 rows). With --positive buy,",
  );
  const empty = await describe(["user_id,item_id,action", "u,a,buy", "u,b,", "v,a,view"]);
  expect(empty.label).toEqual({ type: "Binary", name: "label" });
  expect(empty.findings).toContain("empty (1 rows)");
});

test("a column named type has types of events if it has one that people do", async () => {
  const labelOf = async (...types: string[]) =>
    (await describe(["user,item,type", ...types.map((type, i) => `u${i},i${i},${type}`)])).label;
  expect(await labelOf("view", "buy", "view")).toMatchObject({ type: "Events", name: "type" });
  expect(await labelOf("book", "film", "book")).toEqual({ type: "Binary", name: "label" });
});

test("a label that most rows lack is taken only if it was given", async () => {
  const lines = [
    "user,item,event_type,rating",
    "u,a,view,",
    "u,b,view,",
    "u,c,review,5",
    "u,d,review,2",
    ",d,view,1",
    "v,a,view,",
  ];
  expect((await describe(lines)).label).toMatchObject({ type: "Events", name: "event_type" });
  expect((await describe(lines, { columns: { label: "rating" } })).label).toMatchObject({ type: "Rating" });
  expect((await describe(lines.slice(0, -1))).label).toMatchObject({ type: "Rating", name: "rating" });
  const withNull = lines.map((line) => line.replace(/,$/, ",\\N")); // as MySQL writes it
  expect((await describe(withNull)).label).toMatchObject({ type: "Events", name: "event_type" });
});

test("a label that is the name of a product is none, unless it was given", async () => {
  const lines = ["user,item,label", ...Array.from({ length: 30 }, (_, n) => `u${n % 3},i${n},Shirt ${n}`)];
  expect((await describe(lines)).label).toEqual({ type: "Binary", name: "label" });
  expect((await describe(lines)).findings).toContain("no label, so every row is positive");
  expect((await describe(lines, { columns: { label: "label" } })).findings).toContain("positive where it is 1 or true");
});

test("a quantity below 0 is a return, and not positive", async () => {
  const { label, findings, rows } = await describe([
    "CustomerID,StockCode,Quantity",
    "1,a,6",
    "1,b,-2",
    "2,a,",
    "2,b,0",
  ]);
  expect(label).toEqual({ type: "Binary", name: "label" });
  expect(rows.map((row) => row.label)).toEqual([true, false, true, true]);
  expect(findings).toContain("every row is positive, except 1 with a Quantity below 0, which are returns");
});
