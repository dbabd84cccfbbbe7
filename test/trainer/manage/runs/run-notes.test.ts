import { expect, test } from "vitest";
import { runNotes } from "../../../../trainer/manage/runs/run-notes.ts";

test("stages last until the next one begins, and the last one until now", () => {
  let now = 100;
  const notes = runNotes(() => now);
  const enter = (state: "FETCHING" | "TRAINING", at: number) => {
    now = at;
    notes.add({ kind: "progress", state, progress: {} as never });
  };
  enter("FETCHING", 100);
  enter("FETCHING", 102);
  expect(notes.read().read).toBeNull();
  notes.add({ kind: "data", data: { interactions: 9, rejected_rows: { missing_time: 2, missing_user: 3 } } as never });
  enter("TRAINING", 103.26);
  now = 110;
  expect(notes.read()).toEqual({
    stages: [
      { stage: "FETCHING", seconds: 3.3 },
      { stage: "TRAINING", seconds: 6.7 },
    ],
    read: { interactions: 9, rejected_rows: 5 },
  });
});
