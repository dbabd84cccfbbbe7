/** What the calls about a model's items have in common: its live version, and the object with its changes. */
import type { Context } from "hono";
import type { ExtensionOfVersion } from "../../shared/items/extension-file.ts";
import { markOf } from "../../shared/live-pointer.ts";
import { Problem } from "../../shared/problem.ts";
import type { EdgeEnv } from "../isolate.ts";
import { type RankAccess, rankAccess } from "../ranking/rank-call.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { type ChangedModel, callItemChanges, ItemChangesError, type ItemChangesRpc } from "./item-changes-rpc.ts";

/** A model whose live version is in memory. */
export type ItemsOfModel = {
  /** The version as it was trained, without the changes since. */
  readonly loaded: LoadedVersion;
  /** How a version scores new items. It need not be `loaded`. */
  readonly extension: ExtensionOfVersion | undefined;
  readonly model: ChangedModel;
  readonly access: RankAccess;
};

/** Does work with the live version. Throws Problem model_not_found, model_not_active, artifact_unavailable. */
export async function withVersion<T>(c: Context<EdgeEnv>, work: (items: ItemsOfModel) => Promise<T>): Promise<T> {
  const isolate = c.get("isolate");
  const { customer } = c.get("caller")!;
  const access = rankAccess(c.get("access"), isolate);
  const target = await isolate.pointers.liveVersion(customer, c.req.param("model_name")!, access);
  if (target.live === null) throw target.notActive;
  const { versions, reader } = isolate; // a load has a deadline of its own, since other calls wait for it too
  const { loaded, release } = await versions.lease(target, { ...access, reader, log: writeLog }, access.untilMs);
  try {
    const { modelName, live } = loaded.target;
    const changesFrom = loaded.manifest.changes_from ?? 0;
    const model = { customer, modelName, mark: markOf(live), changesFrom };
    return await work({ loaded, extension: target.extension, model, access });
  } finally {
    release();
  }
}

/** Calls the object with a model's changes. Throws Problem items_unavailable. */
export async function callObject<T>(
  c: Context<EdgeEnv>,
  model: ChangedModel,
  work: (object: ItemChangesRpc) => Promise<T>,
): Promise<T> {
  const { nowMs } = c.get("access");
  const untilMs = nowMs() + c.get("isolate").settings.ITEMS_TIMEOUT_MS;
  try {
    return await callItemChanges(c.env.ITEMS, model, { call: work, untilMs, nowMs });
  } catch (cause) {
    if (!(cause instanceof ItemChangesError)) throw cause;
    const detail = "Changed items cannot be stored or read right now. Try again.";
    throw new Problem("items_unavailable", detail, { cause, retryAfterSeconds: 2 });
  }
}
