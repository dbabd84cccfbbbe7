/** Stores that a user saw a list of an experiment, after the list was answered. */
import { shardsOf } from "../../shared/events/event-store.ts";
import { isCounted } from "../../shared/experiment/running.ts";
import type { UserId } from "../../shared/ids.ts";
import type { Isolate } from "../isolate.ts";
import type { Part } from "../ranking/arm-of-call.ts";
import type { RankAccess, RankCall } from "../ranking/rank-call.ts";
import { writeLog } from "../request-log.ts";
import { bindingOf, callShards } from "./call-shards.ts";

/** Users whose exposure an isolate remembers. For another one the shard is asked again, which changes nothing. */
const REMEMBERED_MAX = 20_000;

type Sources = Pick<Isolate, "eventShards" | "exposed" | "bucket">;

/**
 * Stores the exposure in the shard that has the user's events, once per isolate. If that fails, the user's next call does it. A user who
 * has moved to another shard since takes the exposure along.
 */
export async function expose(
  { experiment, arm, unit, endsMs, stepMs }: Part,
  { customer, shards, requestId: request_id }: RankCall,
  { eventShards, exposed, bucket }: Sources,
  access: RankAccess,
): Promise<void> {
  if (!isCounted(experiment, unit)) return;
  const { salt, goal, guard, revisions } = experiment;
  const key = `${salt}/${unit}`;
  if (exposed.has(key) || access.startedMs >= (endsMs ?? Number.POSITIVE_INFINITY)) return;
  if (exposed.size >= REMEMBERED_MAX) exposed.clear();
  exposed.add(key);
  const user = unit as UserId;
  try {
    bindingOf(shards);
    const list = await eventShards.create(customer, bucket, access);
    const [newest, ...older] = await shardsOf(list, user);
    const taken = await callShards(shards, older, access, (rpc) => rpc.takeExposure(salt, user));
    const first = {
      user,
      arm: arm.name,
      revision: revisions.length - 1,
      at: access.startedMs,
      reached: false,
      guarded: false,
    };
    const exposure = taken.find((one) => one !== null) ?? first;
    const shown = { salt, goal, guard, endsMs, stepMs };
    await callShards(shards, [newest!], access, (rpc, shard) => rpc.expose({ customer, shard }, shown, exposure));
  } catch (error) {
    exposed.delete(key);
    writeLog({ event: "exposure_not_stored", level: "warning", request_id, error: String(error) });
  }
}
