import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { ROW_FIELDS, valueIn } from "../../../edge/client/row-attributes.ts";
import {
  actionCurl,
  type Call,
  curlOf,
  pythonOf,
  rowOf,
  scenarioPath,
  typeScriptOf,
} from "../../../edge/console/request-code.ts";
import { EMPTY_FORM, requestOf, scenarioOf, withScenario } from "../../../edge/console/try-request.ts";

const form = {
  ...EMPTY_FORM,
  user: `o'neil "\\ $HOME é`,
  session: ["i1", 7],
  retrieval: '{"in_stock": true, "note": null, "max-price": {"$lt": 80}}',
  seen: "include",
  userValues: '{"country": "DE"}',
  context: '{"lat": 52.5',
  offset: 20,
};
const call: Call = {
  origin: "https://edge.example",
  model: "shop",
  request: { ...requestOf(form), return: ["scores"] },
};

test("a shell passes the body of the curl line unchanged", () => {
  const script = `curl() { while [ $# -gt 1 ]; do shift; done; printf %s "$1"; }; ${curlOf(call)}`;
  expect(JSON.parse(execFileSync("sh", ["-c", script], { encoding: "utf8" }))).toEqual(call.request);
});

test("the curl line of an action has its address, and its body unchanged", () => {
  const body = scenarioOf({ ...form, name: "home" });
  const url = `https://edge.example${scenarioPath("shop", "o'clock home")}`;
  expect(actionCurl("DELETE", url)).toContain(`DELETE "https://edge.example/v0/models/shop/scenarios/o'clock%20home"`);
  const script = `curl() { while [ $# -gt 1 ]; do shift; done; printf %s "$1"; }; ${actionCurl("PUT", url, body)}`;
  expect(JSON.parse(execFileSync("sh", ["-c", script], { encoding: "utf8" }))).toEqual(body);
});

test("the TypeScript code calls the client with the request", async () => {
  const [, argument] = /rank\("shop", (.*)\);$/s.exec(typeScriptOf(call))!;
  const module = await import(`data:text/javascript,export default ${encodeURIComponent(argument!)}`);
  expect(module.default).toEqual(call.request);
});

test("the Python code writes Python's values, and return as return_", () => {
  const code = pythonOf(call);
  expect(code).toContain('retrieval={ "in_stock": True, "note": None, "max-price": { "$lt": 80 } }');
  expect(code).toContain('return_=["scores"]');
  expect(code).toContain('seen="include"');
  expect(code).toContain('user={ "country": "DE" }');
  expect(code).toContain("offset=20");
  expect(code).not.toContain("context"); // which is no JSON yet
});

/** The request of a row, from its attributes as a browser reads them. */
function requestOfRow(html: string): object {
  const read: Record<string, unknown> = {};
  for (const [, name, double, single] of html
    .split("<shortlist-row")[1]!
    .matchAll(/([\w-]+)=(?:"([^"]*)"|'([^']*)')/g)) {
    const text = (double ?? single)!.replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
    if (name === "request") Object.assign(read, JSON.parse(text));
    else if (ROW_FIELDS[name!]) read[ROW_FIELDS[name!]![0]] = valueIn(text, ROW_FIELDS[name!]![1], name!);
  }
  return read;
}

test("the web component makes the request", () => {
  const hostile = { ...form, user: `o'neil "<script>&amp;`, session: ["i1", "i 2"], pinned: "i4", only: "i4, i5" };
  for (const filled of [EMPTY_FORM, hostile, { ...form, session: ["a,b", "c"] }]) {
    const request = requestOf(filled);
    expect(requestOfRow(rowOf({ ...call, request: { ...request, return: ["metadata"] } }))).toEqual(request);
  }
  expect(rowOf({ ...call, request: { user_id: "u17", scenario: "home" } })).toBe(
    [
      '<script type="module" src="https://edge.example/shortlist-row.js"></script>',
      '<shortlist-row key="KEY" model="shop" user="u17" scenario="home"></shortlist-row>',
    ].join("\n"),
  );
});

test("ids are numbers for a model of integers, and a seed needs exploration", () => {
  const rules = { ...EMPTY_FORM, limit: null, pinned: "7, 8x,", only: " 7,9 ", seed: "5" };
  expect(requestOf(rules)).toEqual({ pinned: ["7", "8x"], item_ids: ["7", "9"] });
  const caps = [
    { attribute: "brand", times: 1 },
    { attribute: "category", times: 2 },
  ];
  const ranked = { ...rules, integerIds: true, seen: "exclude", strategy: "trending", exploration: 0.2, caps };
  expect(requestOf(ranked)).toEqual({
    pinned: [7, "8x"],
    item_ids: [7, 9],
    seen: "exclude",
    strategy: "trending",
    exploration: 0.2,
    seed: 5,
    max_per_value: { brand: 1, category: 2 },
  });
});

test("text that is no JSON object yet is not sent, and defaults are left out", () => {
  expect(requestOf({ ...EMPTY_FORM, retrieval: '{"a":' })).toEqual({ limit: 10 });
  expect(requestOf({ ...EMPTY_FORM, retrieval: "[1]", boosts: [{ retrieval: "x", by: 1 }] })).toEqual({ limit: 10 });
});

test("a scenario's settings come back as they were saved, and replace those of the form", () => {
  const scenario = {
    limit: 20,
    retrieval: { price: { $lt: 80 } },
    boosts: [
      { retrieval: { sale: true }, by: -0.5 },
      { attribute: "added", half_life_days: 14, by: 1 },
    ],
    diversity: 0.3,
    exploration: 0.1,
    seed: 7,
    max_per_value: { brand: 2 },
    pinned: [8, 9],
    strategy: "newest" as const,
    seen: "only" as const,
  };
  const before = { ...EMPTY_FORM, user: "u1", session: [3], scenario: "home", integerIds: true, context: '{"a": 1}' };
  const form = withScenario(before, scenario);
  expect(scenarioOf(form)).toEqual(scenario);
  expect(form).toMatchObject({ user: "u1", session: [3], scenario: "", name: "home", context: '{"a": 1}' });
  for (const [exclude_seen, seen] of [
    [false, "include"],
    [true, "exclude"],
  ] as const)
    expect(scenarioOf(withScenario(before, { exclude_seen }))).toEqual({ seen });
  expect(scenarioOf(withScenario({ ...form, scenario: "bare" }, {}))).toEqual({});
});
