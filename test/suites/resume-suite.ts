import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Method } from "../../trainer/learn/model.ts";
import { checkerboard } from "../fixtures/checkerboard.ts";
import { fitContext } from "../fixtures/fit-context.ts";

const data = checkerboard(40);
const EPOCHS = 12;

/** What every method promises whose fits are long enough to be resumed. */
export function resumeSuite(method: Method): void {
  const params = { ...method.grid(data)[0]!, epochs: EPOCHS };
  const bytes = async (context = fitContext()) =>
    (await method.fit(data, params, context)).export({ weightBytesMax: 1e9 }).weights.map((file) => file.bytes);

  test(`${method.name} stopped in the midst of an epoch and started again gives the same bytes`, async () => {
    const checkpointFolder = newFolder();
    const controller = new AbortController();
    let reports = 0;
    let reportsAtStop = 0;
    const stopped = {
      ...fitContext(),
      checkpointFolder,
      signal: controller.signal,
      progress: (share: number) => {
        reports++;
        if (share < 0.55 || reportsAtStop > 0) return;
        reportsAtStop = reports;
        controller.abort(new Error("stopped"));
      },
    };
    await expect(bytes(stopped)).rejects.toThrow("stopped");

    let reportsAfter = 0;
    const resumed = await bytes({ ...fitContext(), checkpointFolder, progress: () => void reportsAfter++ });
    expect(resumed).toEqual(await bytes());
    expect(reportsAfter).toBeLessThan(reportsAtStop);
  });
}

/** The same of a process that is killed. */
export function killSuite(method: Method): void {
  test(`${method.name} killed with its process goes on in another one, to the same bytes`, async () => {
    const params = { ...method.grid(data)[0]!, epochs: EPOCHS };
    const checkpointFolder = newFolder();
    const child = fork(join(import.meta.dirname, "../fixtures/fit-process.ts"), [method.name, checkpointFolder]);
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "message");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(readdirSync(checkpointFolder).filter((name) => name.endsWith(".bin"))).toHaveLength(1);

    let first: string | undefined;
    const progress = (_: number, detail: string) => {
      first ??= detail;
    };
    const resumed = await method.fit(data, params, { ...fitContext(), checkpointFolder, progress });
    const whole = await method.fit(data, params, fitContext());
    expect(first).toMatch(/^epoch [5-9] of 12/);
    const [a, b] = [resumed, whole].map((model) => model.export({ weightBytesMax: 1e9 }).weights);
    expect(a).toEqual(b);
  });
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "resume-suite-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
