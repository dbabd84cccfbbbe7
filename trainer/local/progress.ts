import type { ModelRecord } from "../../shared/model-record.ts";
import type { Terminal } from "../terminal.ts";

type Training = Pick<ModelRecord, "training">;

const SECONDS_BETWEEN_LINES = 5;

/** Shows the progress of a training: one line that changes, or where lines stay, a line for each stage and one every few seconds. */
export function progressPrinter({ isLive, progress: show }: Omit<Terminal, "print">): (record: Training) => void {
  let stage = "";
  let printedSeconds = 0;
  return (record) => {
    const { state, progress } = record.training;
    const seconds = progress?.elapsed_seconds ?? 0;
    if (state === "IDLE" || state === "FAILED") return;
    if (!isLive && state === stage && seconds - printedSeconds < SECONDS_BETWEEN_LINES) return;
    stage = state;
    printedSeconds = seconds;
    show(progressText(record));
  };
}

/** Stage, fraction, rows, time and detail, such as `training     40 %  100,000 rows  12 s  fitting local_ridge`. */
export function progressText({ training: { state, progress } }: Training): string {
  const parts = [
    state.toLowerCase().padEnd(10),
    progress?.share == null ? "" : `${Math.floor(progress.share * 100)} %`.padStart(5),
    progress?.rows ? `${progress.rows.toLocaleString("en-US")} rows` : "",
    progress ? `${Math.round(progress.elapsed_seconds)} s` : "",
    progress?.remaining_seconds ? `about ${Math.round(progress.remaining_seconds)} s left` : "",
    progress?.detail ?? "",
  ];
  return parts.filter((part) => part !== "").join("  ");
}
