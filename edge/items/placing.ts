/** Whether the model will score new items before the next training. */
import type { Context } from "hono";
import { NEW_ITEMS_PATH } from "../../shared/items/new-items-call.ts";
import { POPULARITY } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import { callTrainer } from "../forward.ts";
import type { EdgeEnv } from "../isolate.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";

/** The change is stored before the trainer hears of it, so a trainer that does not answer only delays the answer. */
const TRAINER_MS_MAX = 2000;

/** When the model gives new items a place. */
export type Placed = "within_a_minute" | "after_training";

/** Tells the trainer of new items. It extends the live version by them, if it works and the version has scores and attributes. */
export async function askForPlaces(c: Context<EdgeEnv>, { manifest, target }: LoadedVersion): Promise<Placed> {
  if (manifest.attributes === null || manifest.model.method === POPULARITY) return "after_training";
  const body = new TextEncoder().encode(JSON.stringify({ model_name: target.modelName }));
  const headers = { "content-type": "application/json" };
  try {
    const answer = await callTrainer(c, {
      method: "POST",
      path: NEW_ITEMS_PATH,
      body,
      headers,
      timeoutMs: TRAINER_MS_MAX,
    });
    await answer.body?.cancel();
    if (answer.status === 202) return "within_a_minute";
    throw new Error(`the trainer answered ${answer.status}`);
  } catch (error) {
    const reason = error instanceof Problem ? error.cause : error;
    writeLog({ event: "new_items_not_noted", level: "warning", request_id: c.get("requestId"), error: String(reason) });
    return "after_training";
  }
}
