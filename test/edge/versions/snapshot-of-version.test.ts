import { expect, test } from "vitest";
import { snapshotOf } from "../../../edge/versions/snapshot-of-version.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { liveVersion, smallVersion } from "../../fixtures/edge-version.ts";

const small = smallVersion(liveVersion("shop", "v1"));
const history = { items: [], agesDays: [] };

test("all members come from the version, and the record from the caller", async () => {
  const record = { items: [], times: [], hasSeen: () => false };
  const { snapshot } = snapshotOf(small, { record });
  expect(snapshot).toMatchObject({ version: "v1", itemCount: 2, itemIdType: "string", historyMax: 10 });
  expect(snapshot.idAt(1 as ItemIndex)).toBe("b");
  expect([...(await snapshot.score(history))]).toEqual([1, 2]);
  const isB = snapshot.compileFilter({ kind: "in", values: ["b"], attribute: "item_id", pointer: "", path: "" });
  expect([0, 1].map((item) => isB(item as ItemIndex))).toEqual([false, true]);
  expect(await snapshot.userRecord("ann" as never)).toBe(record);
  expect(snapshot.scoreByValues).toBeUndefined();
});

test("scores take no memory once they are released", async () => {
  const userValues = { itemCount: 2, scoreIfAny: () => Float32Array.of(3, 4) };
  const { snapshot, release } = snapshotOf({ ...small, userValues } as never);
  const all = [await snapshot.score(history), await snapshot.score(history), snapshot.scoreByValues!([1])!];
  expect(all.map((scores) => [...scores])).toEqual([
    [1, 2],
    [1, 2],
    [3, 4],
  ]);
  release();
  expect(all.map(({ length }) => length)).toEqual([0, 0, 0]);
  release();
});
