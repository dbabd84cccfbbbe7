import { createHash } from "node:crypto";
import type { SessionRules } from "../../../shared/manifest.ts";
import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import {
  instantsForFractions,
  leaveLastOut,
  rowsWhere,
  type Split,
  setSplit,
  temporalSplit,
} from "../../read/dataset/split.ts";
import { casesOfSessions, casesOfSplit, type EvaluationCases } from "../evaluate/evaluation-cases.ts";
import { depthFor, liveChoices, newestChoices } from "./newest-choices.ts";
import { comeInOrders } from "./orders.ts";

/**
 * The prediction task. `service`: later choices from earlier ones, as in production. `live`: the same, where each choice is predicted from
 * everything before it, as with live events. `next-item`: each user's next choice. `set`: random
 * rows of the same users, whatever their time. `sessions`: every next step of sessions that are not in the training part.
 */
export type Protocol = "service" | "live" | "next-item" | "set" | "sessions";

/** A training part, and the cases whose targets are not in it. */
export type ValidationSplit = {
  readonly kind: "temporal" | "leave-last-out" | "held-out" | "sessions";
  readonly reason: string;
  /** Epoch seconds of a temporal split; null for other kinds. */
  readonly instantSeconds: number | null;
  readonly train: Interactions;
  readonly cases: EvaluationCases;
};

/** Splits interactions. Applied to the same interactions under another catalog order, it splits the same rows. */
export type SplitPlan = (data: Interactions) => ValidationSplit;

export type SplitOptions = {
  readonly protocol: Protocol;
  readonly seed: number;
  /** Whether items that a user has seen, or that are in the session, may be shown again. */
  readonly includeSeen: boolean;
};

/** Users with choices on both sides that a temporal split must have. With fewer, each user's newest choice is held out. */
const WARM_USERS_MIN = 200;
/** Fractions of the positives that may come after the instant, the smallest first, to keep the training part large. */
const FRACTIONS_AFTER = [0.1, 0.125, 0.15, 0.175, 0.2] as const;
/** With this many users on both sides, a later instant with a larger training part is worth more than further users. */
const WARM_USERS_PLENTY = 5000;
const HELD_OUT_FRACTION = 0.1;

/** Plans how to split a dataset into a training part and cases. */
export function planSplit(data: Interactions, { protocol, seed, includeSeen }: SplitOptions): SplitPlan {
  if (protocol === "service" || protocol === "live") return planServiceSplit(data, protocol, includeSeen);
  if (protocol === "next-item") return newestHeldOut(data, "The newest choice of each user is held out.", includeSeen);
  if (protocol === "sessions") return sessionsHeldOut(data, seed, { repeats: includeSeen });
  return (all) => {
    const split = setSplit(all, HELD_OUT_FRACTION, seededRandom(seed, 11));
    const reason = "A random tenth of the users' interactions is held out.";
    return fromSplit(split, { kind: "held-out", reason, instantSeconds: null }, includeSeen);
  };
}

/** A digest of the data and the split: two reports with one fingerprint were measured on the same cases. */
export function splitFingerprint(dataset: Dataset, split: ValidationSplit): string {
  const hash = createHash("sha256");
  hash.update(`${split.kind} ${split.instantSeconds} ${split.train.items.length} ${split.cases.count} `);
  for (const part of [dataset.userStart, dataset.items, dataset.times, dataset.positive, dataset.itemIds.bytes]) {
    hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  }
  return `sha256:${hash.digest("hex")}`;
}

function planServiceSplit(data: Interactions, protocol: "service" | "live", includeSeen: boolean): SplitPlan {
  const objection = objectionToTimes(data);
  if (objection) return newestHeldOut(data, objection, includeSeen);
  const instants = instantsForFractions(data, FRACTIONS_AFTER);
  const options = instants.map((instant) => ({ instant, warm: warmUsers(data, instant) }));
  const best =
    options.find(({ warm }) => warm >= WARM_USERS_PLENTY) ?? options.reduce((a, b) => (b.warm > a.warm ? b : a));
  if (best.warm < WARM_USERS_MIN) {
    const found = `only ${best.warm} users have choices both before and after any instant that leaves enough to learn from`;
    return newestHeldOut(data, `Each user's newest choice is held out, since ${found}.`, includeSeen);
  }
  const reason = `What users chose at or after one instant is held out; ${best.warm} of them have a history before it.`;
  const kind = { kind: "temporal", reason, instantSeconds: best.instant } as const;
  if (protocol === "service") return (all) => fromSplit(temporalSplit(all, best.instant), kind, includeSeen);
  const more = `${reason} Each choice is predicted from everything that its user did before, as with live events.`;
  const inOrders = comeInOrders(data);
  return (all) => ({
    ...kind,
    reason: more,
    ...liveChoices(all, { instantSeconds: best.instant, includeSeen, inOrders }),
  });
}

/** Why one instant for all users is meaningless in these data; undefined when it is meaningful. */
function objectionToTimes(data: Interactions): string | undefined {
  const usersByFirstTime = new Map<number, number>();
  let users = 0;
  let together = 0; // users who begin at the most frequent first moment
  for (let user = 0; user < data.userCount; user++) {
    if (data.userStart[user] === data.userStart[user + 1]) continue;
    users++;
    const first = data.times[data.userStart[user]!]!;
    const begun = (usersByFirstTime.get(first) ?? 0) + 1;
    usersByFirstTime.set(first, begun);
    together = Math.max(together, begun);
  }
  if (together * 2 <= users || users < 2) return undefined;
  const found = `${together} of ${users} users begin at the same moment, so times are comparable within a user only`;
  return `Each user's newest choice is held out, since ${found}.`;
}

function warmUsers(data: Interactions, instant: number): number {
  let warm = 0;
  for (let user = 0; user < data.userCount; user++) {
    let [before, after] = [false, false];
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++) {
      if (!data.positive[row]) continue;
      if (data.times[row]! < instant) before = true;
      else after = true;
    }
    if (before && after) warm++;
  }
  return warm;
}

function newestHeldOut(data: Interactions, reason: string, includeSeen: boolean): SplitPlan {
  const [depth, inOrders] = [depthFor(data), comeInOrders(data)];
  return (all) => {
    if (depth > 1 || inOrders) {
      const few = ` Users are few, so up to ${depth} choices of each are held out, one after the other.`;
      const orders = " Several items have one time, so that a choice is a whole order.";
      const more = `${reason}${depth > 1 ? few : ""}${inOrders ? orders : ""}`;
      const kind = { kind: "leave-last-out" as const, reason: more, instantSeconds: null };
      return { ...kind, ...newestChoices(all, { depth, includeSeen, inOrders }) };
    }
    const { refit, test } = leaveLastOut(all);
    return fromSplit(
      { train: refit, targets: test },
      { kind: "leave-last-out", reason, instantSeconds: null },
      includeSeen,
    );
  };
}

/** Holds out a tenth of the sessions: the newest by their first row; among sessions of equal time, random ones. */
function sessionsHeldOut(data: Interactions, seed: number, rules: SessionRules): SplitPlan {
  const random = seededRandom(seed, 13);
  const chance = Float64Array.from({ length: data.userCount }, random);
  const beginOf = (session: number) => data.times[data.userStart[session]!] ?? 0;
  const newest = Uint32Array.from({ length: data.userCount }, (_, session) => session).sort(
    (a, b) => beginOf(b) - beginOf(a) || chance[a]! - chance[b]!,
  );
  const isHeldOut = new Uint8Array(data.userCount);
  for (const session of newest.subarray(0, Math.ceil(data.userCount * HELD_OUT_FRACTION))) isHeldOut[session] = 1;
  return (all) => {
    const ofSession = new Uint32Array(all.items.length);
    for (let session = 0; session < all.userCount; session++) {
      ofSession.fill(session, all.userStart[session]!, all.userStart[session + 1]!);
    }
    return {
      kind: "sessions",
      reason: "The newest tenth of the sessions is held out, and every next step of them is to be predicted.",
      instantSeconds: null,
      train: rowsWhere(all, (row) => !isHeldOut[ofSession[row]!]),
      cases: casesOfSessions(
        rowsWhere(all, (row) => isHeldOut[ofSession[row]!] === 1),
        rules,
      ),
    };
  };
}

type Kind = Pick<ValidationSplit, "kind" | "reason" | "instantSeconds">;

function fromSplit({ train, targets }: Split, kind: Kind, includeSeen: boolean): ValidationSplit {
  const instant = kind.instantSeconds === null ? {} : { instantSeconds: kind.instantSeconds };
  return { ...kind, train, cases: casesOfSplit(train, targets, { includeSeen, ...instant }) };
}
