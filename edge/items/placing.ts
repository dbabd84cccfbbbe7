/** Whether the model will score new items before the next training. */
import type { Context } from "hono";
import { NEW_ITEMS_PATH } from "../../shared/items/new-items-call.ts";
import { modelKey, POPULARITY } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import { callTrainer } from "../forward.ts";
import type { EdgeEnv } from "../isolate.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";

/** The change is stored before the trainer hears of it, so a trainer that does not answer only delays the answer. */
const TRAINER_MS_MAX = 2000;

/** The trainer is not told again for this time. It looks at the model four times as long. */
const TOLD_MS = 5000;
const MODELS_MAX = 5000;

/** When the model gives new items a place. */
export type Placed = "within_a_minute" | "after_training";

/**
 * Tells the trainer of new items. It extends the live version by them, if it works and the version has scores and attributes. The trainer
 * looks at a model for a while, so that an isolate tells it of many requests once.
 */
export async function askForPlaces(c: Context<EdgeEnv>, { manifest, target }: LoadedVersion): Promise<Placed> {
  if (manifest.attributes === null || manifest.model.method === POPULARITY) return "after_training";
  const { placing } = c.get("isolate");
  const { nowMs } = c.get("access");
  const key = modelKey(target);
  if ((placing.get(key) ?? 0) > nowMs()) return "within_a_minute";
  try {
    await tellTrainer(c, target.modelName);
  } catch (error) {
    const reason = error instanceof Problem ? error.cause : error;
    writeLog({ event: "new_items_not_noted", level: "warning", request_id: c.get("requestId"), error: String(reason) });
    return "after_training";
  }
  if (placing.size >= MODELS_MAX) placing.clear();
  placing.set(key, nowMs() + TOLD_MS);
  return "within_a_minute";
}

/** Throws Problem trainer_unavailable, or Error. */
async function tellTrainer(c: Context<EdgeEnv>, modelName: string): Promise<void> {
  const answer = await callTrainer(c, {
    method: "POST",
    path: NEW_ITEMS_PATH,
    body: new TextEncoder().encode(JSON.stringify({ model_name: modelName })),
    headers: { "content-type": "application/json" },
    timeoutMs: TRAINER_MS_MAX,
  });
  await answer.body?.cancel();
  if (answer.status !== 202) throw new Error(`the trainer answered ${answer.status}`);
}
