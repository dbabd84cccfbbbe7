/** `<shortlist-row>` in Chromium, on a page of another origin, with a key for web pages and the real Worker. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buildSync } from "esbuild";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { AttributeColumn } from "../../../shared/attributes.ts";
import { hasBrowser, startBrowser, UNLESS_SKIPPED } from "../../fixtures/browser.ts";
import { pageFaults } from "../../fixtures/console-page.ts";
import { SHOP_ITEMS, shopDataset } from "../../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const HOSTILE = `<img src=x onerror="hacked=1"><script>hacked=1</script>{item_id}"'`;
const PIXEL = Buffer.from("R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==", "base64");
const EVENTS = {
  meanings: { click: { label: true, seen: true }, impression: { label: false, seen: false } },
  learnt: {},
};

const texts = (name: string, textAt: (item: number) => string): AttributeColumn => ({
  name,
  type: "Category",
  dictionary: Array.from({ length: SHOP_ITEMS }, (_, item) => textAt(item)),
  start: Uint32Array.from({ length: SHOP_ITEMS + 1 }, (_, item) => item),
  codes: Uint32Array.from({ length: SHOP_ITEMS }, (_, item) => item),
});

/** Item i is i degrees east of Greenwich on the equator, about 111 km each. */
const PLACES: AttributeColumn = {
  name: "place",
  type: "Location",
  lat: new Float64Array(SHOP_ITEMS),
  lon: Float64Array.from({ length: SHOP_ITEMS }, (_, item) => item),
};

describe.skipIf(!hasBrowser)(`in Chromium${UNLESS_SKIPPED}`, () => {
  let edge: EdgeWorld;
  let browser: Browser;
  let page: Page;
  let server: Server;
  let origin: string;
  let key: string;
  let signing: { key: string; userSecret: string | undefined };
  /** The body of the page that the server sends next. */
  let body = "";
  const answers: unknown[] = [];

  beforeAll(async () => {
    const { outputFiles } = buildSync({
      entryPoints: ["edge/client/shortlist-row.ts"],
      ...{ bundle: true, format: "esm", target: "es2022", write: false },
    });
    server = createServer(({ url }, answer) => {
      if (url === "/shortlist-row.js")
        return answer.setHeader("content-type", "text/javascript").end(outputFiles[0]!.contents);
      if (url!.endsWith(".gif")) return answer.setHeader("content-type", "image/gif").end(PIXEL);
      if (url !== "/") return answer.writeHead(204).end();
      const head = `<title>Shop</title><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
        <script type="module" src="/shortlist-row.js"></script>`;
      answer.setHeader("content-type", "text/html; charset=utf-8");
      if (body.startsWith("<!doctype")) return answer.end(body);
      return answer
        .setHeader("content-security-policy", "require-trusted-types-for 'script'") // text never becomes markup
        .end(
          `<!doctype html><html lang="de"><head>${head}</head><body><main><h1>Shop</h1>${body}</main></body></html>`,
        );
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    edge = await startEdge({ vars: { CORS_ORIGINS: origin } });
    const dataset = shopDataset();
    const itemAttributes = [
      ...dataset.itemAttributes,
      PLACES,
      texts("title", (item) => (item === 5 ? HOSTILE : `Chair ${item}`)),
      texts("image", (item) => (item === 6 ? "javascript:hacked=1" : `/items/${item}.gif`)),
      texts("url", (item) => (item === 7 ? "javascript:hacked=1" : `/items/${item}?a=1&b="2"`)),
    ];
    await edge.publish({ dataset: { ...dataset, itemAttributes }, events: EVENTS });
    ({ key } = await edge.issueKey({
      scopes: ["rank", "events"],
      webPages: { origins: [origin], signsUsers: false },
    }));
    signing = await edge.issueKey({ scopes: ["rank", "events"], webPages: { origins: [origin], signsUsers: true } });
    browser = await startBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    server?.close();
    await edge?.stop();
  });
  afterEach(() => page?.close());

  const row = (attributes = "", content = "") =>
    `<shortlist-row edge="${edge.url}" key="${key}" model="shop" ${attributes}>${content}</shortlist-row>`;
  const open = async (html: string, options: BrowserContextOptions = {}) => {
    body = html;
    answers.length = 0;
    page = await browser.newPage(options);
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => answers.push(error.message));
    await page.addInitScript(`
      globalThis.told = [];
      for (const name of ["load", "click", "error"])
        addEventListener("shortlist-" + name, ({ detail }) => told.push([name, detail.code ?? detail.item_id ?? detail.strategy]));
    `);
    await page.goto(origin);
    return page;
  };
  const told = () => page.evaluate<unknown[]>("told");
  const eventually = <Value>(read: () => Promise<Value>) => expect.poll(read);
  const eventsOf = async (user: string) => {
    const answer = await edge.call(`/v0/users/${user}/events`);
    const { events } = (await answer.json()) as { events: { type: string; item_id: string; rank_id?: string }[] };
    return events;
  };
  const change = (call: string) => page.evaluate(`document.querySelector("shortlist-row").${call}`);
  const titles = () => page.locator(".title").allInnerTexts();

  test("shows picture, title, price and link, and is for keyboard and screen reader", async () => {
    await open(row(`user="ann" limit="3" heading="Für dich" currency="EUR"`));
    const region = page.getByRole("region", { name: "Für dich" });
    const links = region.getByRole("list").getByRole("listitem").getByRole("link");
    await eventually(() => links.count()).toBe(3);
    const ranked = await (await edge.call("/v0/models/shop/rank?user_id=ann&limit=3")).json();
    expect(await titles()).toEqual((ranked as string[]).map((id) => `Chair ${id.slice(1)}`));
    const first = page.getByRole("link", { name: "Chair 2 20,00 €" });
    expect(await first.getAttribute("href")).toBe(`${origin}/items/2?a=1&b=%222%22`);
    expect(await first.locator("img").getAttribute("alt")).toBe("");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.shadowRoot.activeElement.textContent")).toContain("Chair 2");
    expect(await pageFaults(page)).toEqual([]);
    expect(answers).toEqual([]);
  });

  test("a skeleton while it loads, which screen readers leave out", async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await open("");
    await page.route("**/rank", async (route) => {
      await held;
      await route.continue();
    });
    await page.evaluate(`{
      const made = document.createElement("shortlist-row");
      for (const [name, value] of Object.entries(${JSON.stringify({ edge: edge.url, key, model: "shop", limit: "4" })}))
        made.setAttribute(name, value);
      document.querySelector("main").append(made);
    }`);
    await page.locator("section[aria-busy=true]").waitFor();
    expect(await page.locator("li").count()).toBe(4);
    expect(await page.getByRole("listitem").count()).toBe(0);
    expect(await pageFaults(page)).toEqual([]);
    answer();
    await page.getByRole("listitem").first().waitFor();
    expect(await page.locator("section[aria-busy]").count()).toBe(0);
  });

  test("an item in sight is an impression once, and a click is an event of the same list", async () => {
    await open(
      `${row('user="visitor" limit="2"')}<div style="height: 300vh"></div>${row('user="visitor2" limit="1"')}`,
    );
    await page.getByRole("link").first().waitFor();
    await eventually(async () => (await eventsOf("visitor")).length).toBe(2);
    await page.evaluate("scrollTo(0, 1e5)");
    await eventually(async () => (await eventsOf("visitor2")).length).toBe(1);
    await page.evaluate("scrollTo(0, 0)");
    await page.evaluate(`addEventListener("shortlist-click", (event) => event.preventDefault())`);
    await page.getByRole("link").first().press("Enter");
    await eventually(async () => (await eventsOf("visitor")).length).toBe(3);
    expect(page.url()).toBe(`${origin}/`); // the page kept the link from being followed
    const events = await eventsOf("visitor");
    expect(events.map(({ type }) => type).sort()).toEqual(["click", "impression", "impression"]);
    expect(new Set(events.map(({ rank_id }) => rank_id)).size).toBe(1);
    expect(events[0]!.rank_id).toMatch(/^\S{20,64}$/);
    expect(await told()).toContainEqual(["click", events.find(({ type }) => type === "click")!.item_id]);
  });

  test("a click that leaves the page is stored too", async () => {
    await open(row('user="leaver" limit="1" impression="" href="/items/{item_id}?from=row"'));
    await page.getByRole("link").click();
    await eventually(async () => (await eventsOf("leaver")).map(({ type }) => type)).toEqual(["click"]);
  });

  test("without a user nothing is sent, and without a link a card is a button", async () => {
    const sent: string[] = [];
    await open(
      `<meta name="shortlist-model" content="shop">${row('limit="3" show-link="none" show-title="category"')}`,
    );
    page.on("request", (request) => request.url().endsWith("/v0/events") && sent.push(request.url()));
    await page
      .getByRole("button", { name: /^(shoes|hats) \d+$/ })
      .first()
      .click();
    await eventually(told).toContainEqual(["click", expect.any(String)]);
    await page.waitForTimeout(600);
    expect(sent).toEqual([]);
  });

  test("values of items are never markup or script", async () => {
    await open(
      row('limit="8" seen="include"') +
        row(
          'limit="8" seen="include"',
          `<template><a data-href="url"><img data-src="image" data-alt="title"><b data-text="title"></b></a></template>`,
        ),
    );
    await eventually(async () => (await page.locator("b").count()) + (await page.locator(".card").count())).toBe(16);
    expect(
      (await titles()).concat(await page.locator("b").allInnerTexts()).filter((text) => text === HOSTILE),
    ).toHaveLength(2);
    await page.locator(".card", { hasText: "Chair 7" }).click(); // its address is script
    await page
      .locator("a", { has: page.getByText("Chair 7", { exact: true }) })
      .last()
      .click();
    expect(await page.evaluate("typeof hacked")).toBe("undefined");
    expect(await page.locator("script:not([src]), [onerror], [src^='javascript'], [href^='javascript']").count()).toBe(
      0,
    );
    expect(answers).toEqual([]);
  });

  test("the page's own markup, with its own events", async () => {
    await open(
      `<style>.mine { color: rgb(1, 2, 3) }</style>${row(
        'user="buyer" limit="2" impression=""',
        `<h2 slot="heading">Again</h2>
         <template><article class="mine"><a data-href="link"><img data-src="picture" data-alt="title"></a>
           <p data-text="category"></p><p data-text="nothing"></p><p data-text="constructor"></p>
           <button data-shortlist-event="purchase">Buy</button></article></template>`,
      )}`,
    );
    await page.getByRole("region", { name: "Again" }).waitFor();
    await page.getByRole("button", { name: "Buy" }).first().click();
    await eventually(async () => (await eventsOf("buyer")).map(({ type }) => type)).toEqual(["purchase"]);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.mine')).color")).toBe("rgb(1, 2, 3)");
    expect(await page.locator(".mine p").first().innerText()).toMatch(/shoes|hats/);
    expect(await page.locator(".mine p").nth(2).innerText()).toBe("");
    expect(await page.getByRole("link", { name: /^Chair/ }).count()).toBe(2);
    expect(await pageFaults(page)).toEqual([]);
    await change("setAttribute('limit', '1')");
    await eventually(() => page.locator(".mine").count()).toBe(1);
  });

  test.each([
    ['filter=\'{"price": {"$lt": 25}}\' seen="include" limit="9"', ["Chair 0", "Chair 1", "Chair 2"]],
    ['filter=\'{"price": {"$gt": {"$context": "least"}}}\' context=\'{"least": 65}\'', ["Chair 7"]],
    ['filter=\'{"title": {"$user": "own"}}\' user-values=\'{"own": "Chair 4"}\'', ["Chair 4"]],
    ['item="i4" limit="2"', ["Chair 3", HOSTILE]],
    ['items="i4, i5" relation="similar" limit="2"', ["Chair 3", "Chair 6"]],
    ['session="i7, i6" limit="2"', [HOSTILE, "Chair 4"]],
    ['user="ann" seen="only"', ["Chair 0", "Chair 1"]],
    ['request=\'{"pinned": ["i4"], "max_per_value": {"category": 1}}\' strategy="popular" limit="1"', ["Chair 4"]],
  ])("the attributes %s", async (attributes, expected) => {
    await open(row(attributes));
    await eventually(async () => (await titles()).sort()).toEqual([...expected].sort());
  });

  test("settings of the page, a signed user, and a session that rows of similar items do not send", async () => {
    const signature = createHmac("sha256", signing.userSecret!).update("zoe").digest("hex");
    const settings = {
      edge: edge.url,
      key: signing.key,
      model: "shop",
      user: "zoe",
      "user-signature": signature,
      "session-id": "s",
    };
    const metas = Object.entries(settings).map(([name, value]) => `<meta name="shortlist-${name}" content="${value}">`);
    await open(
      `${metas.join("")}<shortlist-row limit="2"></shortlist-row><shortlist-row item="i2" limit="1"></shortlist-row>`,
    );
    await eventually(async () => (await titles()).length).toBe(3);
    await eventually(async () => (await eventsOf("zoe")).length).toBe(3);
    await change("setAttribute('user', 'bob')"); // whom nobody has signed
    await eventually(told).toContainEqual(["error", "invalid_user_signature"]);
    await eventually(async () => (await titles()).length).toBe(1);
  });

  test("the page of the README has its four rows", async () => {
    const readme = readFileSync("edge/client/README.md", "utf8");
    const [html] = /<!doctype html>[\s\S]*?(?=```)/.exec(readme)!;
    const settings = { "https://rank.example.com/shortlist-row.js": "/shortlist-row.js", "rk_…": key, u17: "ann" };
    let own = html.replace(
      "<meta charset",
      `<link rel="icon" href="data:,"><meta name="shortlist-edge" content="${edge.url}"><meta charset`,
    );
    for (const [from, to] of Object.entries(settings)) own = own.replaceAll(from, to);
    await open(own, { permissions: ["geolocation"], geolocation: { latitude: 0, longitude: 3 } });
    const lists: Record<string, number> = {
      "For you": 6,
      "Trending near you": 3,
      "Goes with your basket": 5,
      "Buy again": 2,
    };
    for (const [heading, count] of Object.entries(lists))
      await eventually(() => page.getByRole("region", { name: heading }).getByRole("listitem").count()).toBe(count);
    expect(await pageFaults(page)).toEqual([]);
    expect(answers).toEqual([]);
  });

  test.each([
    ['scenario="none"', "scenario_not_found"],
    ['limit="many"', "limit_out_of_range"],
    ["filter='{'", "invalid_attribute"],
    ['item="none"', "item_not_found"],
    ['key="rk_wrong"', "invalid_api_key"],
  ])("a row with %s shows nothing, and says why in an event", async (attributes, code) => {
    const html = `<h2 slot="heading">For you</h2>`;
    await open(`<shortlist-row ${attributes} edge="${edge.url}" key="${key}" model="shop">${html}</shortlist-row>`);
    await eventually(told).toEqual([["error", code]]);
    expect(await page.locator("shortlist-row").innerText()).toBe("");
    expect(await page.locator("shortlist-row").boundingBox()).toMatchObject({ height: 0 });
    for (const name of ["scenario", "limit", "filter", "item"]) await change(`removeAttribute("${name}")`);
    await change(`setAttribute("key", "${key}")`);
    await page.getByRole("heading", { name: "For you" }).waitFor();
  });

  test("an old answer never replaces a newer one, and a row that was removed says nothing", async () => {
    await open("");
    let held: (() => Promise<void>) | undefined;
    await page.route("**/rank", async (route) => {
      if (route.request().postDataJSON().limit === 5) held = () => route.continue();
      else await route.continue();
    });
    await page.evaluate(`{
      globalThis.row = document.createElement("shortlist-row");
      for (const [name, value] of Object.entries(${JSON.stringify({ edge: edge.url, key, model: "shop", limit: "5" })}))
        row.setAttribute(name, value);
      document.querySelector("main").append(row);
    }`);
    await expect.poll(() => held).toBeDefined();
    await page.evaluate(`row.setAttribute("limit", "2")`);
    await eventually(async () => (await titles()).length).toBe(2);
    await held!().catch(() => {}); // the page has given the request up
    await page.waitForTimeout(200);
    expect(await titles()).toHaveLength(2);
    const before = await told();
    expect(before).toEqual([["load", "popular"]]);
    await page.evaluate(`row.refresh(); row.remove()`);
    await page.waitForTimeout(300);
    expect(await told()).toEqual(before);
  });
});
