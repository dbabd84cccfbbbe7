import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { resumable } from "../../../../trainer/learn/neural/resume.ts";
import { adam } from "../../../../trainer/learn/numerics/autodiff/adam.ts";
import { parameter } from "../../../../trainer/learn/numerics/autodiff/parameters.ts";

const folder = mkdtempSync(join(tmpdir(), "resume-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A parameter after two steps, its optimizer and average. */
function live(start: number) {
  const parameters = new Map([["w", parameter([3], (i) => start + i)]]);
  const optimizer = adam(parameters);
  return { parameters, averages: averagesOf(parameters), optimizer: optimizer.state, step: optimizer.step };
}

function savedState(hasEnded = false) {
  const state = live(1);
  state.parameters.get("w")!.gradient.fill(2);
  state.step(0.1);
  const best = { averages: averagesOf(state.averages), judgement: 0.25, epochs: 3 };
  resumable(folder, "same", state).save({ epoch: 4, seconds: 12.5, best, hasEnded });
  return state;
}

test("what was saved comes back to the last bit", () => {
  const state = savedState();
  const fresh = live(50);
  const position = resumable(folder, "same", fresh).load();
  expect([position?.epoch, position?.seconds, position?.hasEnded]).toEqual([4, 12.5, false]);
  expect(position?.best.judgement).toBe(0.25);
  expect(position?.best.epochs).toBe(3);
  expect([...position!.best.averages.get("w")!.value]).toEqual([1, 2, 3]);
  expect(fresh.parameters.get("w")!.value).toEqual(state.parameters.get("w")!.value);
  expect(fresh.averages).toEqual(state.averages);
  expect(fresh.optimizer).toEqual(state.optimizer);
});

test("a state is saved and found without a second copy of it: a large one is more than one call can move", () => {
  const parameters = new Map([["w", parameter([1_000_000], Math.sin)]]);
  const state = { parameters, averages: averagesOf(parameters), optimizer: adam(parameters).state };
  const best = { averages: state.averages, judgement: 0.5, epochs: 1 };
  const bytesOfArray = 4_000_000;
  const grownBy = (work: () => void) => {
    const before = process.memoryUsage().arrayBuffers;
    work();
    return process.memoryUsage().arrayBuffers - before;
  };
  const { load, save } = resumable(folder, "large", state);
  expect(grownBy(() => save({ epoch: 1, seconds: 1, best, hasEnded: false }))).toBeLessThan(bytesOfArray);
  expect(grownBy(() => expect(load()?.epoch).toBe(1))).toBeLessThan(2 * bytesOfArray); // what was best, alone
});

test("another identity begins anew", () => {
  savedState();
  expect(resumable(folder, "unknown", live(50)).load()).toBeUndefined();
});

test.each([0, 3, 40, 100])("a file cut off after %i bytes begins anew", (size) => {
  savedState();
  const path = join(folder, readdirSync(folder).find((name) => name.endsWith(".bin"))!);
  writeFileSync(path, readFileSync(path).subarray(0, size));
  const fresh = live(50);
  expect(resumable(folder, "same", fresh).load()).toBeUndefined();
  expect(fresh.parameters.get("w")!.value[0]).toBe(50);
});

test("once training has ended its outcome alone is kept, in a fifth of the bytes", () => {
  savedState();
  const path = join(folder, readdirSync(folder)[0]!);
  const whole = readFileSync(path).length;
  savedState(true);
  expect(whole - readFileSync(path).length).toBeGreaterThanOrEqual(4 * 4 * 3 - 8);
  const fresh = live(50);
  const position = resumable(folder, "same", fresh).load();
  expect(position?.hasEnded).toBe(true);
  expect([...position!.best.averages.get("w")!.value]).toEqual([1, 2, 3]);
  expect(fresh.parameters.get("w")!.value[0]).toBe(50);
});

test("fits of two identities lie side by side", () => {
  savedState();
  const other = live(7);
  const best = { averages: averagesOf(other.averages), judgement: undefined, epochs: 1 };
  resumable(folder, "other", other).save({ epoch: 1, seconds: 1, best, hasEnded: false });
  expect(resumable(folder, "same", live(50)).load()?.epoch).toBe(4);
  expect(resumable(folder, "other", live(50)).load()?.epoch).toBe(1);
});

test("without a folder nothing is kept", () => {
  savedState();
  expect(resumable(undefined, "same", live(1)).load()).toBeUndefined();
});
