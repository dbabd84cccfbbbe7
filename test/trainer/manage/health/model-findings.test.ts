import fc from "fast-check";
import { expect, test } from "vitest";
import { type CheckedModel, modelFindings } from "../../../../trainer/manage/health/model-findings.ts";

const NOW_MS = Date.parse("2026-11-27T00:00:00Z");
const daysAgo = (days: number) => new Date(NOW_MS - days * 86_400_000).toISOString();
const WELL: CheckedModel = {
  model_name: "shop",
  trained_at: daysAgo(1),
  data: { to: daysAgo(1) },
  failure: null,
  scenario_problems: [],
};
const found = (changes: Partial<CheckedModel>) => modelFindings([{ ...WELL, ...changes }], NOW_MS);
const failure = (code: string, retryable = false) => ({ failure: { code, message: "It failed.", retryable } });

test("models that are well are one finding", () =>
  expect(modelFindings([WELL, { ...WELL, model_name: "other" }], NOW_MS)).toEqual([
    { name: "models", state: "ok", finding: "2 without a failure, none older than 8 days" },
  ]));

test.each([
  ["fault", "the last training failed: It failed.", "train again", failure("missing_column")],
  ["fault", "the last training failed: It failed.", "tried again", failure("source_unreachable", true)],
  ["warning", "It failed.", "when there are enough events", failure("not_enough_events")],
  ["warning", "It failed.", "live version stays", failure("version_refused")],
  ["warning", "was trained 9 days ago", "train_schedule", { trained_at: daysAgo(9.5) }],
  ["warning", "its newest interaction is 20 days old", "new rows do not arrive", { data: { to: daysAgo(20) } }],
  [
    "warning",
    "the scenario home does not fit the live version: no attribute brand",
    "Store the scenario",
    { scenario_problems: [{ scenario: "home", problems: ["no attribute brand"] }] },
  ],
] as [string, string, string, Partial<CheckedModel>][])("%s: %s", (state, finding, remedy, changes) =>
  expect(found(changes)).toEqual([{ name: "model shop", state, finding, remedy: expect.stringContaining(remedy) }]),
);

test("each model that needs attention has one finding, and all that need it have a remedy", () => {
  const days = fc.option(fc.integer({ min: 0, max: 30 }).map(daysAgo));
  const model = fc.record({
    model_name: fc.string({ minLength: 1 }),
    trained_at: days,
    data: fc.option(fc.record({ to: days })),
    failure: fc.option(fc.record({ code: fc.string(), message: fc.string(), retryable: fc.boolean() })),
    scenario_problems: fc.option(fc.constant<{ scenario: string; problems: string[] }[]>([])),
  });
  fc.assert(
    fc.property(fc.array(model), (models) => {
      const findings = modelFindings(models, NOW_MS);
      const isWell = findings.length === 1 && findings[0]!.state === "ok";
      expect(isWell || findings.every(({ state, remedy }) => state !== "ok" && remedy !== undefined)).toBe(true);
      expect(findings.length).toBeLessThanOrEqual(Math.max(1, models.length));
      const failing = models.filter(({ failure }) => failure !== null).length;
      expect(isWell ? 0 : findings.length).toBeGreaterThanOrEqual(failing);
    }),
  );
});
