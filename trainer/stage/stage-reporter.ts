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
  const entered = new Set<TrainingState>();
  let first: Standing | undefined; // of this stage
  let sentAt = Number.NEGATIVE_INFINITY;
  let rows: number | null = null;

  const tell = ({ share, detail }: StageProgress) => {
    const now = clock();
    sentAt = now;
    const known = share === undefined ? null : within(share);
    send(state, {
      stage: state.toLowerCase(),
      detail: detail ?? null,
      rows,
      share: known,
      elapsed_seconds: tenths(now - begin),
      remaining_seconds: known === null ? null : remaining(first!, { share: known, at: now }),
    });
  };
  return {
    enter(next) {
      // One that is entered again goes on far beyond 0, where its next word tells.
      if (next !== state) first = entered.has(next) ? undefined : { share: 0, at: clock() };
      entered.add(next);
      state = next;
      tell({});
    },
    progress(progress) {
      if (progress.rows !== undefined) rows = progress.rows;
      if (progress.share !== undefined) first ??= { share: within(progress.share), at: clock() };
      if (clock() - sentAt >= SECONDS_BETWEEN) tell(progress);
    },
  };
}

type Standing = { readonly share: number; readonly at: number };

/** Of this stage, if it goes on at its mean speed so far. */
function remaining(first: Standing, { share, at }: Standing): number | null {
  const done = share - first.share;
  return done < SHARE_FOR_ESTIMATE ? null : tenths(((at - first.at) * (1 - share)) / done);
}

const within = (share: number) => Math.min(1, Math.max(0, share));
const tenths = (seconds: number) => Math.round(seconds * 10) / 10;
