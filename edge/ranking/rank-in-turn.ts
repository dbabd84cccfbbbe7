import type { RankParameters } from "../../shared/api.ts";
import { type RankAnswer, rank, runsMaxOf } from "../../shared/rank.ts";
import type { LiveChoices } from "../../shared/recent-choices.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { snapshotOf } from "../versions/snapshot-of-version.ts";
import { type Capacity, inTurn, type Waiting } from "./capacity.ts";
import type { RankAccess } from "./rank-call.ts";

type Ranking = {
  readonly loaded: LoadedVersion;
  readonly parameters: RankParameters;
  /** The stored record of the call's user, with live events. */
  readonly record: UserRecord | undefined;
  /** Absent: the list needs none. */
  readonly liveChoices?: LiveChoices | undefined;
};

/** Ranks when it is the call's turn; everything that has to be read is in memory. Throws Problem, FormatError. */
export async function rankInTurn(
  { customer, nowMs }: Waiting,
  isolate: Capacity,
  { loaded, parameters, record, liveChoices }: Ranking,
  { startedMs }: Pick<RankAccess, "startedMs">,
): Promise<RankAnswer> {
  const { item_count } = loaded.manifest;
  const itemCount = item_count * runsMaxOf(parameters, item_count, loaded.fewScores !== undefined);
  return inTurn({ customer, nowMs, itemCount }, isolate, async () => {
    const { snapshot, release } = snapshotOf(loaded, { record, liveChoices });
    try {
      return await rank({ ...parameters, nowSeconds: startedMs / 1000 }, snapshot);
    } finally {
      release();
    }
  });
}
