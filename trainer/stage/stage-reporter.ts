import type { Progress, TrainingState } from "../../shared/model-record.ts";

/** What a stage tells of itself; `share` 0…1 of its work where that is known. */
export type StageProgress = { readonly share?: number; readonly rows?: number; readonly detail?: string };

export type StageReporter = {
  enter(state: TrainingState): void;
  readonly progress: (progress: StageProgress) => void;
};

type ReporterOptions = {
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly send: (state: TrainingState, progress: Progress) => void;
};

const SECONDS_BETWEEN = 0.25;
const SHARE_FOR_ESTIMATE = 0.02;

/** Turns what stages tell into the record's progress: at most four a second, and one for every new stage. */
export function stageReporter({ clock, send }: ReporterOptions): StageReporter {
  const begin = clock();
  let state: TrainingState = "SCHEDULED";
  let stageBegin = begin;
  let sentAt = Number.NEGATIVE_INFINITY;
  let rows: number | null = null;

  const tell = ({ share, detail }: StageProgress) => {
    const now = clock();
    sentAt = now;
    const known = share === undefined ? null : Math.min(1, Math.max(0, share));
    send(state, {
      stage: state.toLowerCase(),
      detail: detail ?? null,
      rows,
      share: known,
      elapsed_seconds: tenths(now - begin),
      remaining_seconds: known === null || known < SHARE_FOR_ESTIMATE ? null : remaining(now - stageBegin, known),
    });
  };
  return {
    enter(next) {
      if (next !== state) stageBegin = clock();
      state = next;
      tell({});
    },
    progress(progress) {
      if (progress.rows !== undefined) rows = progress.rows;
      if (clock() - sentAt >= SECONDS_BETWEEN) tell(progress);
    },
  };
}

/** Of this stage, if it goes on at its mean speed so far. */
const remaining = (seconds: number, share: number) => tenths((seconds * (1 - share)) / share);
const tenths = (seconds: number) => Math.round(seconds * 10) / 10;
