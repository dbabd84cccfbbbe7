import { errorForLog, type Log } from "../../log/log.ts";

/** The steps, the last one first, each once. One that fails is logged and keeps none of the others from being done. */
export async function closeInReverse(steps: (() => Promise<void> | void)[], log: Log): Promise<void> {
  for (const step of steps.splice(0).reverse())
    try {
      await step();
    } catch (error) {
      log({ event: "close_failed", level: "error", error: errorForLog(error) });
    }
}
