import type { LocalRecord } from "./ensure-model.ts";

/** Where progress is shown. On a terminal one line is overwritten; other outputs get a new line every few seconds. */
export type ProgressOutput = {
  readonly isTerminal: boolean;
  readonly columns: number;
  write(text: string): void;
};

export type ProgressLine = {
  show(record: LocalRecord): void;
  /** Ends the line, so that the next output starts on a new one. */
  end(): void;
};

const CLEAR = "\r\u001b[2K";
const SECONDS_BETWEEN_LINES = 5;
const BAR_WIDTH = 20;

/** Displays the progress of a training and updates it. */
export function progressLine(output: ProgressOutput): ProgressLine {
  let shown = "";
  let stage = "";
  let secondsShown = Number.NEGATIVE_INFINITY;
  return {
    show(record) {
      const text = progressText(record);
      if (text === shown || text === "") return;
      const seconds = record.training.progress?.elapsed_seconds ?? 0;
      if (output.isTerminal) output.write(`${CLEAR}${text.slice(0, Math.max(20, output.columns - 1))}`);
      else if (record.training.state !== stage || seconds - secondsShown >= SECONDS_BETWEEN_LINES) {
        output.write(`${text}\n`);
        secondsShown = seconds;
      }
      stage = record.training.state;
      shown = text;
    },
    end() {
      if (output.isTerminal && shown !== "") output.write("\n");
      shown = "";
    },
  };
}

/** Stage, fraction, rows, time and detail, such as `training    [########            ]  40 %  100,000 rows  12 s  fitting ease`. */
export function progressText({ training: { state, progress } }: LocalRecord): string {
  if (state === "IDLE" || state === "FAILED") return "";
  const fraction = progress?.share ?? null;
  const filled = Math.round((fraction ?? 0) * BAR_WIDTH);
  const parts = [
    state.toLowerCase().padEnd(10),
    `[${"#".repeat(filled)}${" ".repeat(BAR_WIDTH - filled)}]`,
    fraction === null ? "     " : `${String(Math.floor(fraction * 100)).padStart(3)} %`,
    progress?.rows ? `${progress.rows.toLocaleString("en-US")} rows` : "",
    progress ? duration(progress.elapsed_seconds) : "",
    progress?.remaining_seconds ? `about ${duration(progress.remaining_seconds)} left` : "",
    progress?.detail ?? "",
  ];
  return parts.filter((part) => part !== "").join("  ");
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
