import { expect, test } from "vitest";
import { REPORT } from "../fixtures/small-report.ts";
import { frontierOf } from "./frontier.ts";

const candidate = (method: string, value: number, coverage: number, over = {}) => ({
  ...REPORT.candidates[0]!,
  ...{ method, outcome: "lost" as const, lists: { "coverage@10": coverage } },
  ...{ metrics: { "ndcg@10": { value, low: value, high: value } }, lift: { value: 0.1, low: 0.05, high: 0.2 } },
  ...over,
});

test("a candidate is on the frontier if no better one shows as many items", () => {
  const worse = { lift: { value: 0, low: -0.1, high: 0.1 } };
  const candidates = [
    candidate("narrow", 0.3, 0.1, { outcome: "chosen" }),
    candidate("wide", 0.2, 0.5),
    candidate("neither", 0.1, 0.4),
    candidate("widest, no better than popularity", 0.05, 0.9, worse),
    candidate("dropped", 0.29, 0.8, { outcome: "dropped" }),
    candidate("middle", 0.25, 0.3),
  ];
  expect(frontierOf(candidates, "ndcg@10").map(({ method }) => method)).toEqual(["narrow", "middle", "wide"]);
});
