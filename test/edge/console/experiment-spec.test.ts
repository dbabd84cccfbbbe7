import { expect, test } from "vitest";
import {
  armForm,
  bodyOf,
  change,
  conclusionOf,
  missingOf,
  newExperiment,
  suggestedArm,
  timeLeftOf,
} from "../../../edge/console/experiment-spec.ts";
import { ExperimentAnswer } from "../../../shared/experiment/answer.ts";
import { Experiment } from "../../../shared/experiment/experiment.ts";

const form = { ...newExperiment(["view", "purchase"]), name: "first" };

test("the body is what the API takes, and has only what was filled in", () => {
  const arms = [
    armForm("now", 33.3),
    { ...armForm("b", 33.3), version: "v1", scenario: "home" },
    { ...armForm("c", 33.4), isPopular: true },
  ];
  const body = bodyOf({ ...form, arms, guard: "view", guardHours: "1" });
  expect(Experiment.parse(body)).toEqual(body);
  expect(body).toEqual({
    name: "first",
    arms: [
      { name: "now", share: 0.333 },
      { name: "b", share: 0.333, version: "v1", scenario: "home" },
      { name: "c", share: 0.334, strategy: "popular" },
    ],
    goal: { type: "purchase", within_hours: 24 },
    guard: { type: "view", within_hours: 1 },
  });
  expect(bodyOf(form)).not.toHaveProperty("guard");
  expect(newExperiment(["view", "click"]).goal).toBe("click");
});

test("what is missing is said", () => {
  expect(missingOf(form)).toBeUndefined();
  expect(missingOf({ ...form, name: "" })).toBe("Name the experiment and its goal.");
  expect(missingOf({ ...form, arms: [armForm("a", 50), armForm("a", 50)] })).toBe("The arms need different names.");
  expect(missingOf({ ...form, arms: [armForm("a", 50), armForm("b", 49.5)] })).toContain("add up to 99.5 %");
});

type Verdict = "running" | "better" | "worse" | "no_difference";
/** The report of an experiment with arms of these lifts and verdicts beside the first one. */
function report(
  verdict: string,
  others: readonly (readonly [Verdict, number, ("popular" | null)?])[],
  more: object = {},
) {
  const goal = { type: "purchase", within_hours: 24 };
  const arm = { share: 0.5, version: null, scenario: null, strategy: null, exposed: 9, reached: 1, rate: 0.1 };
  return ExperimentAnswer.parse({
    ...{ name: "e", started_at: "2026-11-01T00:00:00Z", goal, guard: null, verdict, sample_ratio_mismatch: false },
    arms: [
      { ...arm, name: "a" },
      ...others.map(([own, value, strategy = null], i) => ({
        ...arm,
        ...{ name: "bcde"[i]!, strategy, verdict: own, lift: { value, low: value - 0.1, high: value + 0.1 } },
      })),
    ],
    ...{ users_to_detect_5_percent: 1200, days_to_detect_5_percent: 0.03, history: [], ...more },
  });
}

test("the conclusion is a sentence for each verdict", () => {
  expect(
    conclusionOf(
      report("better", [
        ["better", 0.3],
        ["worse", -0.3],
        ["better", 0.2],
      ]),
    ),
  ).toBe("b and d are better than a: more users reach purchase.");
  expect(conclusionOf(report("worse", [["worse", -0.3]]))).toBe("b is worse than a.");
  expect(conclusionOf(report("no_difference", [["no_difference", 0]]))).toContain("no difference from a");
  expect(conclusionOf(report("running", [["running", 0.1]]))).toBe("There is no verdict yet.");
  expect(
    conclusionOf(
      report("running", [
        ["running", 0.1],
        ["worse", -0.2],
      ]),
    ),
  ).toBe("c is worse than a; the others have no verdict yet.");
  expect(conclusionOf(report("sample_ratio_mismatch", [["running", 0.1]]))).toContain("Nothing can be concluded");
});

test("the best arm is suggested, unless it cannot be kept or none is better", () => {
  expect(
    suggestedArm(
      report("better", [
        ["better", 0.2],
        ["better", 0.3],
        ["running", 0.9],
      ]),
    ),
  ).toBe("c");
  expect(suggestedArm(report("better", [["better", 0.2, "popular"]]))).toBe("");
  expect(suggestedArm(report("worse", [["worse", -0.2]]))).toBe("");
});

test("the time left is in users and in days or hours", () => {
  expect(timeLeftOf(report("running", []))).toBe("1,200 more users of each arm, about an hour at the pace so far");
  const left = (users: number | null, days: number | null) =>
    timeLeftOf(report("running", [], { users_to_detect_5_percent: users, days_to_detect_5_percent: days }));
  expect([left(5, 1.5), left(5, 3.2), left(5, null), left(0, 0), left(null, null)]).toEqual([
    "5 more users of each arm, about 36 hours at the pace so far",
    "5 more users of each arm, about 4 days at the pace so far",
    "5 more users of each arm",
    "there are users enough",
    "known after 25 users of the first arm have reached the goal",
  ]);
  expect([change(0.1234), change(-0.05), change(0)]).toEqual(["+12.3\u00a0%", "−5.0\u00a0%", "0.0\u00a0%"]);
});
