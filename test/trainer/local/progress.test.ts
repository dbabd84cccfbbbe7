import { expect, test } from "vitest";
import type { ModelRecord } from "../../../shared/model-record.ts";
import { progressPrinter, progressText } from "../../../trainer/local/progress.ts";
import { plainTerminal } from "../../../trainer/terminal.ts";

type Training = ModelRecord["training"];
const record = (state: Training["state"], seconds: number, more: Partial<NonNullable<Training["progress"]>> = {}) => {
  const none = { stage: "x", detail: null, rows: null, share: null, remaining_seconds: null };
  return { training: { state, progress: { ...none, elapsed_seconds: seconds, ...more } } } as unknown as ModelRecord;
};

test("the line shows stage, fraction, rows, time and detail", () => {
  const more = { share: 0.406, rows: 100_000, detail: "fitting ease", remaining_seconds: 30 };
  expect(progressText(record("TRAINING", 72.4, more))).toBe(
    "training     40 %  100,000 rows  72 s  about 30 s left  fitting ease",
  );
});

test("a line is printed per stage and every five seconds", () => {
  const lines: string[] = [];
  const show = progressPrinter(plainTerminal((line) => void lines.push(line)));
  for (const seconds of [0, 1, 2, 5, 6, 10]) show(record("TRAINING", seconds));
  for (const state of ["DEPLOYING", "IDLE"] as const) show(record(state, 10.2));
  expect(lines.map((text) => text.replaceAll(/ +/g, " "))).toEqual([
    "training 0 s",
    "training 5 s",
    "training 10 s",
    "deploying 10 s",
  ]);
});
