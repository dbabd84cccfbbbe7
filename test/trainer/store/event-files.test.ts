import { beforeEach, expect, test } from "vitest";
import { eventFileKey, learntMarksKey } from "../../../shared/events/event-store.ts";
import { cutOffOf, listEventFiles } from "../../../trainer/store/event-files.ts";
import { lowestMarks, writeLearntMarks } from "../../../trainer/store/learnt-marks.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

let store: ObjectStore;
beforeEach(() => {
  store = memoryStore();
});

/** Stores empty files with these ranges, and returns what a run takes of them. */
async function cutOff(ranges: Readonly<Record<string, readonly (readonly [first: number, last: number])[]>>) {
  for (const [shard, files] of Object.entries(ranges))
    for (const [first, last] of files)
      await store.putIfAbsent(eventFileKey("acme", { shard, first, last }), new Uint8Array(), "application/gzip");
  await store.putIfAbsent("customers/acme/events/files/0-0/notes.txt", new Uint8Array(), "text/plain");
  await store.putIfAbsent(eventFileKey("acme-2", { shard: "0-0", first: 5, last: 6 }), new Uint8Array(), "text/plain");
  const { files, marks, afterGap } = cutOffOf(await listEventFiles(store, "acme"));
  const shown = (list: typeof files) => list.map(({ shard, first, last }) => `${shard}:${first}-${last}`);
  return { files: shown(files), marks, afterGap: shown(afterGap) };
}

test("the files of every shard in their order, and the last event of each", async () => {
  expect(
    await cutOff({
      "0-10": [[1, 4]],
      "0-2": [
        [3, 12],
        [1, 2],
      ],
    }),
  ).toEqual({
    files: ["0-10:1-4", "0-2:1-2", "0-2:3-12"],
    marks: { "0-10": 4, "0-2": 12 },
    afterGap: [],
  });
});

test("nothing is taken after a gap", async () => {
  expect(
    await cutOff({
      "0-0": [
        [1, 2],
        [4, 5],
        [6, 7],
      ],
      "0-1": [[1, 1]],
    }),
  ).toEqual({
    files: ["0-0:1-2", "0-1:1-1"],
    marks: { "0-0": 2, "0-1": 1 },
    afterGap: ["0-0:4-5", "0-0:6-7"],
  });
});

test("a shard whose oldest files were deleted begins with its first file", async () => {
  expect(
    await cutOff({
      "0-0": [
        [100, 120],
        [121, 130],
      ],
    }),
  ).toMatchObject({ marks: { "0-0": 130 }, afterGap: [] });
});

test("files that were merged into a longer one are left out", async () => {
  const files = [
    [1, 2],
    [3, 4],
    [1, 4],
    [5, 9],
  ] as const;
  expect(await cutOff({ "0-0": files })).toMatchObject({ files: ["0-0:1-4", "0-0:5-9"], afterGap: [] });
});

test("there may be no files", async () => {
  expect(await cutOff({})).toEqual({ files: [], marks: {}, afterGap: [] });
});

test.each([
  [
    [
      { a: 3, b: 4 },
      { a: 5, b: 2 },
    ],
    { a: 3, b: 2 },
  ],
  [[{ a: 3 }, { a: 5, b: 2 }], { a: 3 }],
  [[{ a: 3 }, {}], {}],
])("the lowest marks of %j are %j", (all, lowest) => expect(lowestMarks(all)).toEqual(lowest));

test("no marks are written while no version has learnt events", async () => {
  await writeLearntMarks(store, "acme", [{ customer: "acme", modelName: "shop" }]);
  expect(await store.head(learntMarksKey("acme"))).toBeUndefined();
});
