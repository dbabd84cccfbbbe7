import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openKeptFits } from "../../../trainer/run/kept-fits.ts";

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

function modelDirectory(): string {
  const folder = mkdtempSync(join(tmpdir(), "kept-fits-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a run begun again finds what the crashed one left, and nothing of one abandoned days ago", async () => {
  const own = modelDirectory();
  const { folder } = await openKeptFits(own, NOW_MS);
  for (const [name, ageDays] of [
    ["crashed", 1],
    ["abandoned", 4],
  ] as const) {
    writeFileSync(join(folder, name), "state");
    const seconds = (NOW_MS - ageDays * DAY_MS) / 1000;
    utimesSync(join(folder, name), seconds, seconds);
  }
  expect((await openKeptFits(own, NOW_MS)).folder).toBe(folder);
  expect(readdirSync(folder)).toEqual(["crashed"]);
});

test("removed when the run has ended, and again without harm", async () => {
  const own = modelDirectory();
  const fits = await openKeptFits(own, NOW_MS);
  writeFileSync(join(fits.folder, "state"), "state");
  await fits.remove();
  await fits.remove();
  expect(existsSync(fits.folder)).toBe(false);
  expect(existsSync(own)).toBe(true);
});
