/** Thousands of random requests, valid and damaged, to a real edge with a real trainer. `npm run bench -- fuzz` sends more. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { fuzzCases } from "../fixtures/fuzz-cases.ts";
import { faultOf } from "../fixtures/fuzz-judge.ts";
import { runFuzz } from "../fixtures/fuzz-run.ts";
import { type FuzzWorld, OTHERS_MARK, startFuzzWorld } from "../fixtures/fuzz-world.ts";

const SEED = 20_261_121;
const CASES = 2000;

let world: FuzzWorld;
beforeAll(async () => {
  world = await startFuzzWorld(SEED);
});
afterAll(() => world?.stop());

test(`${CASES} random requests: no 5xx, no internals, no other customer's data, and every list as in the slow reference`, {
  timeout: 180_000,
}, async () => {
  const { failures, cases, kinds, statuses } = await runFuzz(world, { cases: CASES, seed: SEED });
  expect(failures).toEqual([]);
  expect(cases).toBe(CASES);
  expect(Math.min(...kinds.values())).toBeGreaterThan(CASES / 100);
  for (const status of [200, 400, 401, 404, 409, 415]) expect(statuses.get(status), `${status}`).toBeGreaterThan(5);
});

test("the same seed gives the same cases", () => {
  const first = (seed: number) => {
    const source = fuzzCases(world, seed);
    return Array.from({ length: 50 }, () => JSON.stringify(source.next().value));
  };
  expect(first(1)).toEqual(first(1));
  expect(first(1)).not.toEqual(first(2));
});

test("the checker finds each kind of fault", () => {
  const model = world.models.texts!;
  const one = { kind: "", method: "GET", path: "/v0/models/texts/rank", headers: {}, model, request: { limit: 2 } };
  const right = JSON.stringify(model.items.slice(0, 2).map(({ id }) => id));
  const judge = (status: number, text: string, type = "application/json", more: object = {}) => {
    const headers = new Headers({ "content-type": type, "cache-control": "no-store", "x-request-id": "r" });
    return faultOf({ ...one, ...more }, { status, headers, text }, world);
  };
  const problem = (code: string, status: number, detail = "x") =>
    JSON.stringify({ code, status, detail, error: detail, request_id: "r" });
  const asProblem = "application/problem+json";
  expect(judge(200, right)).toBeUndefined();
  expect(judge(404, problem("model_not_found", 404), asProblem)).toBeUndefined();
  expect(judge(503, "")).toBe("a 503");
  expect(judge(404, "", asProblem, { status: 200 })).toBe("404 instead of 200");
  expect(judge(200, `["${OTHERS_MARK}-1"]`)).toBe("another customer's data");
  expect(judge(400, problem("invalid_json", 400, "at parse (worker.js:1:2)"), asProblem)).toBe("a stack trace");
  expect(judge(400, problem("invalid_json", 400, "select x from shortlist.models"), asProblem)).toMatch("insides");
  expect(judge(400, world.key)).toBe("an API key");
  expect(judge(400, problem("model_not_found", 400), asProblem)).toMatch("the code");
  expect(judge(400, "{}")).toMatch("an error of type");
  expect(judge(200, "[]")).toMatch("instead of");
  expect(() => judge(200, "[]", undefined, { request: { retrieval: { price: { $mod: 2 } } } })).toThrow();
});
