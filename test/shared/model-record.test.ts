import { expect, test } from "vitest";
import { ModelStatus } from "../../shared/live-pointer.ts";
import { statusAfter, TrainingState } from "../../shared/model-record.ts";

/** The status of a model without a live version after its run has entered a state. IDLE changes nothing. */
const EXPECTED: Readonly<Record<TrainingState, ModelStatus | undefined>> = {
  IDLE: undefined,
  SCHEDULED: "SCHEDULING",
  FETCHING: "FETCHING",
  TRAINING: "TRAINING",
  EVALUATING: "TRAINING",
  DEPLOYING: "DEPLOYING",
  FAILED: "ERROR",
};

const pairs = ModelStatus.options.flatMap((status) => TrainingState.options.map((state) => [status, state] as const));

test.each(pairs)("%s and %s", (status, state) => {
  const isDestroying = status === "DESTROYING";
  expect(statusAfter(status, state, false)).toBe(isDestroying ? "DESTROYING" : (EXPECTED[state] ?? status));
  expect(statusAfter(status, state, true)).toBe(isDestroying ? "DESTROYING" : "ACTIVE");
});
