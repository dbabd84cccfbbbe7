import { setImmediate } from "node:timers/promises";
import type { FitContext } from "./model.ts";

/** Tells how far a fit is, lets other work of the process run, and ends the fit if it was aborted. */
export async function checkpoint(context: FitContext, share: number, detail: string): Promise<void> {
  context.progress(share, detail);
  await setImmediate();
  context.signal.throwIfAborted();
}
