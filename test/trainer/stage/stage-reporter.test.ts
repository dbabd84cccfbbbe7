import { expect, test } from "vitest";
import type { Progress, TrainingState } from "../../../shared/model-record.ts";
import { stageReporter } from "../../../trainer/stage/stage-reporter.ts";

function reporter() {
  const sent: (Progress & { state: TrainingState })[] = [];
  let seconds = 100;
  const report = stageReporter({ clock: () => seconds, send: (state, progress) => sent.push({ state, ...progress }) });
  return { sent, report, wait: (by: number) => (seconds += by) };
}

test("a new stage is told at once, what comes within a quarter of a second is not", () => {
  const { sent, report, wait } = reporter();
  report.enter("FETCHING");
  report.progress({ rows: 5 });
  wait(0.3);
  report.progress({ rows: 9, share: 0.5 });
  report.enter("TRAINING");
  expect(sent.map(({ state, rows, share }) => [state, rows, share])).toEqual([
    ["FETCHING", null, null],
    ["FETCHING", 9, 0.5],
    ["TRAINING", 9, null],
  ]);
});

test("remaining time goes by the stage's own speed: 30 s for a quarter leave 90 s", () => {
  const { sent, report, wait } = reporter();
  report.enter("FETCHING");
  wait(10);
  report.enter("TRAINING");
  wait(30);
  report.progress({ share: 0.25 });
  expect(sent.at(-1)).toMatchObject({ elapsed_seconds: 40, remaining_seconds: 90 });
});

test("a stage that is entered again goes by its speed since then: 60 s for a tenth of what was left leave 540 s", () => {
  const { sent, report, wait } = reporter();
  report.enter("TRAINING");
  wait(100);
  report.progress({ share: 0.7 });
  report.enter("EVALUATING");
  report.enter("TRAINING");
  report.progress({ share: 0.7 });
  wait(60);
  report.progress({ share: 0.73 });
  expect(sent.at(-1)).toMatchObject({ elapsed_seconds: 160, share: 0.73, remaining_seconds: 540 });
});

test("a share outside 0…1 is brought back into it", () => {
  const { sent, report, wait } = reporter();
  report.enter("TRAINING");
  wait(1);
  report.progress({ share: 1.2 });
  expect(sent.at(-1)).toMatchObject({ share: 1, remaining_seconds: 0 });
});
