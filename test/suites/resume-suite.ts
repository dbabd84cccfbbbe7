import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Method } from "../../trainer/models/model.ts";
import { checkerboard } from "../fixtures/checkerboard.ts";
import { fitContext } from "../fixtures/fit-context.ts";

/** What every method promises whose fits are long enough to be resumed. */
export function resumeSuite(method: Method): void {
  test(`${method.name} stopped in the midst of an epoch and started again gives the same bytes`, async () => {
    const checkpointFolder = mkdtempSync(join(tmpdir(), "resume-suite-"));
    onTestFinished(() => rmSync(checkpointFolder, { recursive: true }));
    const data = checkerboard(40);
    const params = { ...method.grid(data)[0]!, epochs: 12 };
    const bytes = async (context = fitContext()) =>
      (await method.fit(data, params, context)).export({ weightBytesMax: 1e9 }).weights.map((file) => file.bytes);
    const whole = await bytes();

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
        controller.abort(new Error("killed"));
      },
    };
    await expect(bytes(stopped)).rejects.toThrow("killed");

    let reportsAfter = 0;
    const resumed = await bytes({ ...fitContext(), checkpointFolder, progress: () => void reportsAfter++ });
    expect(resumed).toEqual(whole);
    expect(reportsAfter).toBeLessThan(reportsAtStop);
  });
}
