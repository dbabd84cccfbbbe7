import { expect, test } from "vitest";
import { StoreError } from "../../trainer/publish/object-store.ts";
import { runFailure } from "../../trainer/run-failure.ts";
import { StageError } from "../../trainer/stage/stage-error.ts";

test("a stage's own words are told, with the stage that said them", () => {
  const error = new StageError("checking", "no_positives", "No rating reaches 4");
  const told = { stage: "checking", code: "no_positives", message: "No rating reaches 4", retryable: false };
  expect(runFailure(error, "training")).toEqual(told);
});

test.each([true, false])("what the store says is its own kind of failure, which may pass: %s", (retryable) => {
  const message = "customers/acme.json is not what it should be";
  const told = { stage: "fetching", code: "store_unavailable", message, retryable };
  expect(runFailure(new StoreError(message, { retryable }), "fetching")).toEqual(told);
});

test("of a mistake of ours nothing is told but that it was one", () => {
  const failure = runFailure(new TypeError("hunter2 is undefined"), "training");
  expect(failure).toMatchObject({ stage: "training", code: "internal", retryable: true });
  expect(failure.message).not.toContain("hunter2");
});
