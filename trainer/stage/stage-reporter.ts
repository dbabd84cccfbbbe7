import type { Progress, TrainingState } from "../../shared/model-record.ts";

/** Progress inside one stage. `fraction` is 0…1 of the stage's work, where that is known. */
export type StageProgress = { readonly fraction?: number; readonly rows?: number; readonly detail?: string };

export type StageReporter = {
  /** Begins the next stage. Each stage is entered once. */
  enter(state: TrainingState): void;
  readonly progress: (progress: StageProgress) => void;
};

type ReporterOptions = {
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly send: (state: TrainingState, progress: Progress) => void;
};

const SECONDS_BETWEEN_MESSAGES = 0.25;
/** No time is predicted before this fraction of a stage is done. */
const FRACTION_FOR_PREDICTION = 0.02;

/** Turns the progress of stages into the record's `progress`: one message for every new stage, and at most four a second. */
export function stageReporter({ clock, send }: ReporterOptions): StageReporter {
  const begin = clock();
  let state: TrainingState = "SCHEDULED";
  let stageBegin = begin;
  let sentAt = Number.NEGATIVE_INFINITY;
  let rows: number | null = null;

  const sendProgress = ({ fraction, detail }: StageProgress) => {
    const now = clock();
    sentAt = now;
    const share = fraction === undefined ? null : Math.min(1, Math.max(0, fraction));
    send(state, {
      stage: state.toLowerCase(),
      detail: detail ?? null,
      rows,
      share,
      elapsed_seconds: tenths(now - begin),
      remaining_seconds: share === null ? null : remainingSeconds(now - stageBegin, share),
    });
  };
  return {
    enter(next) {
      state = next;
      stageBegin = clock();
      sendProgress({});
    },
    progress(progress) {
      if (progress.rows !== undefined) rows = progress.rows;
      if (clock() - sentAt >= SECONDS_BETWEEN_MESSAGES) sendProgress(progress);
    },
  };
}

/** Seconds until the stage ends, if it goes on at its mean speed so far. */
function remainingSeconds(stageSeconds: number, fraction: number): number | null {
  return fraction < FRACTION_FOR_PREDICTION ? null : tenths((stageSeconds * (1 - fraction)) / fraction);
}

const tenths = (seconds: number) => Math.round(seconds * 10) / 10;
