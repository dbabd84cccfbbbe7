import type { EdgeWorld } from "../fixtures/edge-world.ts";
import type { Judge } from "./load-judge.ts";
import { pause } from "./load-loops.ts";
import type { MortalTrainer } from "./load-trainer.ts";

const PUBLISH_EVERY_SECONDS = 20;
const KILL_EVERY_SECONDS = 15;
const KEY_EVERY_SECONDS = 5;
const REVOKED_SECONDS = 60;
const TRIES = 25;

export type Disturbances = { versions: number; publishedAtMs: number[]; kills: number; keys: number; faults: string[] };

type Disturbed = {
  readonly edge: EdgeWorld;
  /** The edge whose bucket the measured edge reads. Keys are issued there. */
  readonly bucket: EdgeWorld;
  /** A key that stays valid. */
  readonly key: string;
  readonly trainer: MortalTrainer;
  readonly judge: Judge;
};

/** Publishes versions, kills the trainer, and issues and revokes keys, until it is ended. */
export function disturb({ edge, bucket, key: own, trainer, judge }: Disturbed): { end(): Promise<Disturbances> } {
  const done: Disturbances = { versions: 0, publishedAtMs: [], kills: 0, keys: 0, faults: [] };
  const revoked: { key: string; atMs: number }[] = [];
  let isOver = false;
  const every = async (seconds: number, work: () => Promise<void>) => {
    for (let next = performance.now() + 1000 * seconds; !isOver; next += 1000 * seconds) {
      while (!isOver && performance.now() < next) await pause(100);
      if (!isOver) await work().catch((error: unknown) => void done.faults.push(String(error)));
    }
  };
  const statusOf = async (path: string, key: string) => (await edge.call(path, { key })).status;
  /** Repeats a call that is refused for want of capacity, since that says nothing about the expectation. */
  const expectStatus = async (expected: readonly number[], path: string, key: string) => {
    let status = await statusOf(path, key);
    for (let tries = 1; status === 503 && !expected.includes(503) && tries < TRIES; tries++) {
      await pause(200);
      status = await statusOf(path, key);
    }
    if (!expected.includes(status)) done.faults.push(`${path}: ${status}, not ${expected.join(" or ")}`);
  };
  const works = [
    every(PUBLISH_EVERY_SECONDS, async () => {
      await judge.publish(++done.versions % 2);
      done.publishedAtMs.push(performance.now());
    }),
    every(KILL_EVERY_SECONDS, async () => {
      await trainer.kill();
      done.kills++;
      await expectStatus([502, 503], "/v0/models", own);
      await trainer.start();
      await expectStatus([200], "/v0/models", own);
    }),
    every(KEY_EVERY_SECONDS, async () => {
      const { key, keyId } = await bucket.issueKey();
      await expectStatus([200], "/v0/models/scale/rank", key);
      await bucket.revokeKey(keyId);
      revoked.push({ key, atMs: performance.now() });
      done.keys++;
      for (const { key: old, atMs } of revoked)
        if (performance.now() - atMs > 1000 * REVOKED_SECONDS) await expectStatus([401], "/v0/models/scale/rank", old);
    }),
  ];
  const end = async () => {
    isOver = true;
    await Promise.all(works);
    return done;
  };
  return { end };
}
