import { expect, test } from "vitest";
import type { Progress, TrainingState } from "../../../shared/model-record.ts";
import { stageReporter } from "../../../trainer/stage/stage-reporter.ts";

function reporter() {
  const sent: (Progress & { state: TrainingState })[] = [];
  let seconds = 100;
  const report = stageReporter({ clock: () => seconds, send: (state, progress) => sent.push({ state, ...progress }) });
  return { sent, report, wait: (by: number) => (seconds += by) };
}

test("a new stage is sent at once; progress within a quarter of a second is not", () => {
  const { sent, report, wait } = reporter();
  report.enter("FETCHING");
  report.progress({ rows: 5 });
  wait(0.3);
  report.progress({ rows: 9, fraction: 0.5 });
  report.enter("TRAINING");
  expect(sent.map(({ state, rows, share }) => [state, rows, share])).toEqual([
    ["FETCHING", null, null],
    ["FETCHING", 9, 0.5],
    ["TRAINING", 9, null],
  ]);
});

test("the remaining time follows from the stage's own speed: 30 s for a quarter leave 90 s", () => {
  const { sent, report, wait } = reporter();
  report.enter("FETCHING");
  wait(10);
  report.enter("TRAINING");
  wait(30);
  report.progress({ fraction: 0.25 });
  expect(sent.at(-1)).toMatchObject({ elapsed_seconds: 40, remaining_seconds: 90 });
});

test("a fraction outside 0…1 is clamped", () => {
  const { sent, report, wait } = reporter();
  report.enter("TRAINING");
  wait(1);
  report.progress({ fraction: 1.2 });
  expect(sent.at(-1)).toMatchObject({ share: 1, remaining_seconds: 0 });
});
