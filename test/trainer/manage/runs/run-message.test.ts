import { expect, test } from "vitest";
import { parseRunMessage } from "../../../../trainer/manage/runs/run-message.ts";

const failure = { stage: "fetching", code: "no", message: "No.", retryable: false };

test("what is a message passes as it is", () => {
  const metrics = { method: "ease", "ndcg@10": 0.3, baseline: { "ndcg@10": 0.2 } };
  for (const message of [
    { kind: "failed", failure },
    { kind: "published", version: "v1", itemIdType: "string", metrics },
    { kind: "refused", reasons: ["worse"], metrics },
  ])
    expect(parseRunMessage(message)).toEqual(message);
});

test("a long text is shortened", () => {
  const message = parseRunMessage({ kind: "failed", failure: { ...failure, message: "x".repeat(10_000) } });
  expect(message?.kind === "failed" && message.failure.message).toHaveLength(4001);
});

test.each([
  [null],
  ["published"],
  [{ kind: "published" }],
  [{ kind: "published", version: "", metrics: {} }],
  [{ kind: "progress", state: "DANCING", progress: {} }],
  [{ kind: "failed", failure: { ...failure, retryable: "no" } }],
  [{ kind: "unheard of" }],
])("%j is none", (value) => expect(parseRunMessage(value)).toBe(undefined));
