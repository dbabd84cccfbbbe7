import { expect, test } from "vitest";
import { leasedScores } from "../../../edge/versions/leased-scores.ts";
import type { Filter } from "../../../shared/filter/parse-filter.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";

test("scores by values and the arrays of a filter are freed as well", () => {
  const classes = new Uint8Array(3);
  const own = {
    scoreByValues: () => Float32Array.of(1, 2),
    compileFilter: (_: Filter, onTable?: (table: ArrayBufferView) => void) => {
      onTable?.(classes);
      return (item: ItemIndex) => classes[item] === 0;
    },
  } as unknown as Snapshot;
  const { snapshot, release } = leasedScores(own);
  const scores = snapshot.scoreByValues!([1]);
  expect([scores.length, snapshot.compileFilter({ kind: "and", of: [] })(0 as ItemIndex)]).toEqual([2, true]);
  release();
  expect([scores.length, classes.length]).toEqual([0, 0]);
  expect(leasedScores({} as Snapshot).snapshot.scoreByValues).toBeUndefined();
});

test("scores take no memory once they are released", async () => {
  const own = { version: "v", score: async () => Float32Array.of(1, 2) } as unknown as Snapshot;
  const { snapshot, release } = leasedScores(own);
  const history = { items: [], agesDays: [] };
  const all = [await snapshot.score(history), await snapshot.score(history)];
  expect([snapshot.version, ...all.map((scores) => [...scores])]).toEqual(["v", [1, 2], [1, 2]]);
  release();
  expect(all.map(({ length }) => length)).toEqual([0, 0]);
  release();
});
