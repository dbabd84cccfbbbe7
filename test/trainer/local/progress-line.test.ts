import { expect, test } from "vitest";
import type { LocalRecord } from "../../../trainer/local/ensure-model.ts";
import { progressLine, progressText } from "../../../trainer/local/progress-line.ts";

type Training = LocalRecord["training"];
const record = (state: Training["state"], seconds: number, more: Partial<NonNullable<Training["progress"]>> = {}) =>
  ({
    training: {
      state,
      run_id: "r",
      progress: {
        stage: "x",
        detail: null,
        rows: null,
        share: null,
        elapsed_seconds: seconds,
        remaining_seconds: null,
        ...more,
      },
    },
  }) as unknown as LocalRecord;

function outputs(isTerminal: boolean) {
  const written: string[] = [];
  const line = progressLine({ isTerminal, columns: 60, write: (text) => written.push(text) });
  return { written, line };
}

test("the line shows stage, fraction, rows, time and detail", () => {
  const text = progressText(
    record("TRAINING", 72.4, { share: 0.406, rows: 100_000, detail: "fitting ease", remaining_seconds: 30 }),
  );
  expect(text).toBe(
    "training    [########            ]   40 %  100,000 rows  1 min 12 s  about 30 s left  fitting ease",
  );
  expect(progressText(record("FETCHING", 0))).toMatch(/^fetching {4}\[ {20}\] {7,}0 s$/);
  expect(progressText(record("IDLE", 5))).toBe("");
});

test("durations are rounded to whole seconds before minutes are split off", () => {
  const shown = (seconds: number) => / {2}(\d.*)$/.exec(progressText(record("FETCHING", seconds)))![1];
  expect([59.4, 59.6, 119.6].map(shown)).toEqual(["59 s", "1 min 0 s", "2 min 0 s"]);
});

test("on a terminal one line is overwritten and never wraps", () => {
  const { written, line } = outputs(true);
  line.show(record("FETCHING", 1));
  line.show(record("FETCHING", 1));
  line.show(record("TRAINING", 2, { detail: "a very long detail ".repeat(10) }));
  line.end();
  line.end();
  expect(written).toHaveLength(3);
  expect(written[0]!.startsWith("\r\u001b[2Kfetching")).toBe(true);
  expect(written[1]!.length - "\r\u001b[2K".length).toBe(59);
  expect(written[2]).toBe("\n");
});

test("other outputs get a line per stage and every five seconds", () => {
  const { written, line } = outputs(false);
  for (const seconds of [0, 1, 2, 5, 6, 10]) line.show(record("TRAINING", seconds));
  line.show(record("DEPLOYING", 10.2));
  line.end();
  expect(written.map((text) => [text.split(" ")[0], /(\d+) s/.exec(text)![1]])).toEqual([
    ["training", "0"],
    ["training", "5"],
    ["training", "10"],
    ["deploying", "10"],
  ]);
  expect(written.every((text) => text.endsWith("\n"))).toBe(true);
});
