import { expect, test } from "vitest";
import { checkpoint } from "../../../trainer/learn/checkpoint.ts";
import { fitContext } from "../../fixtures/fit-context.ts";

test("it tells the progress, and throws the reason once the fit is aborted, even if that happens meanwhile", async () => {
  const told: string[] = [];
  const controller = new AbortController();
  const progress = (share: number, detail: string) => told.push(`${share} ${detail}`);
  const context = { ...fitContext(), signal: controller.signal, progress };
  await checkpoint(context, 0.5, "counting");
  expect(told).toEqual(["0.5 counting"]);
  setImmediate(() => controller.abort(new Error("enough")));
  await expect(checkpoint(context, 0.6, "solving")).rejects.toThrow("enough");
});
