/** A running experiment as the live pointer has it, so that every edge that knows the live version knows the arms too. */
import * as z from "zod";
import { Live } from "../manifest.ts";
import { Problem } from "../problem.ts";
import { armWithBucket, BUCKETS, bucketOf } from "./buckets.ts";
import { ARMS_MAX, ARMS_MIN } from "./experiment.ts";

const Bucket = z.int().min(0).max(BUCKETS);
const Goal = z.object({ type: z.string().max(40), within_hours: z.int().min(1) });
/** Changes of shares. Later ones are refused. */
export const REVISIONS_MAX = 50;

export const RunningArm = z.object({
  name: z.string().max(40),
  buckets: z.array(z.tuple([Bucket, Bucket])).max(BUCKETS),
  /** Null: the live version. */
  version: Live.nullable(),
  scenario: z.string().max(63).nullable(),
  strategy: z.literal("popular").nullable(),
});
export type RunningArm = z.infer<typeof RunningArm>;

export const RunningExperiment = z.object({
  name: z.string().max(63),
  /** Differs between experiments, also between those of one name, so that two share no buckets. */
  salt: z.string().min(1).max(64),
  /** RFC 3339 UTC. */
  started_at: z.string().max(40),
  goal: Goal,
  guard: Goal.nullable(),
  /** The fraction of the users who are counted. Absent: 1. */
  sample: z.number().optional(),
  arms: z.array(RunningArm).min(ARMS_MIN).max(ARMS_MAX),
  /** The shares since the beginning, by the names of the arms; the last ones are in force. */
  revisions: z.array(z.record(z.string(), z.number())).min(1).max(REVISIONS_MAX),
});
export type RunningExperiment = z.infer<typeof RunningExperiment>;

export const experimentNotFound = (modelName: string): Problem =>
  new Problem("experiment_not_found", `The model ${JSON.stringify(modelName)} has no running experiment.`);

/** A new version, the second arm, serves a share of the users before it goes live. Users of neither arm get the live version. */
export const RunningCanary = RunningExperiment.extend({
  /** The share of the users who get the version. */
  share: z.number(),
  hours: z.number(),
  /** RFC 3339 UTC. From then on the version goes live unless it is worse. */
  ends_at: z.string().max(40),
});
export type RunningCanary = z.infer<typeof RunningCanary>;

/** The version that waits until the canary before it is decided. */
export const NextCanary = RunningCanary.pick({ share: true, hours: true, goal: true, guard: true }).extend({
  version: Live,
});
export type NextCanary = z.infer<typeof NextCanary>;

type Lasting = {
  readonly experiment?: RunningExperiment | undefined;
  readonly holdout?: RunningExperiment | undefined;
  readonly default_scenario?: string | undefined;
};

/** What of a pointer stays when another version goes live. A canary ends. */
export const keptBy = ({ experiment, holdout, default_scenario }: Lasting) => ({
  ...(experiment && { experiment }),
  ...(holdout && { holdout }),
  ...(default_scenario !== undefined && { default_scenario }),
});

/** Whether a user counts, in an experiment that counts a sample. It does not depend on the arm. */
export const isCounted = ({ salt, sample = 1 }: Pick<RunningExperiment, "salt" | "sample">, unit: string): boolean =>
  sample === 1 || bucketOf(`${salt}/sample`, unit) < sample * BUCKETS;

/** The arm of a user, or of an anonymous caller's session; undefined for a user outside the experiment. */
export function armOf({ salt, arms }: Pick<RunningExperiment, "salt" | "arms">, unit: string): RunningArm | undefined {
  return arms[armWithBucket(arms, bucketOf(salt, unit))];
}
