import { expect, test } from "vitest";
import { StageError } from "../../../trainer/stage/stage-error.ts";

test("a stage error keeps its cause, and is retried only when it says so", () => {
  const cause = new Error("socket closed");
  const error = new StageError("fetching", "connection_lost", "The connection was cut", { cause, retryable: true });
  expect(error).toMatchObject({
    name: "StageError",
    stage: "fetching",
    code: "connection_lost",
    retryable: true,
    cause,
  });
  expect(new StageError("training", "x", "y").retryable).toBe(false);
});
