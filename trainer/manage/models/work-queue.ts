/**
 * Work on models, handed to whichever trainer is free: at most one job per model is queued or worked on at a time,
 * over all trainers of one database. A job only says "look at this model": what is to be done stands in the model's own
 * rows, so a lost job is simply queued again, and one that comes too often finds nothing to do.
 */
import { setTimeout as delay } from "node:timers/promises";
import { PgBoss } from "pg-boss";
import { errorForLog, type Log } from "../../log/log.ts";
import { bossInside, type Database, type Queries, wasMadeMeanwhile } from "../records/database.ts";

export type WorkQueue<Work extends object> = {
  /** False when a job for the model is there already. */
  enqueue(modelKey: string, work: Work, queries?: Queries): Promise<boolean>;
  /** Takes jobs, at most so many at once, until the queues stop. */
  take(concurrency: number, handler: (work: Work) => Promise<void>): Promise<void>;
  /** Looks for a job now rather than at the next poll. */
  wake(): void;
};

export type WorkQueues = {
  open<Work extends object>(name: string): Promise<WorkQueue<Work>>;
  /** Takes no further job. */
  pause(): Promise<void>;
  /** Waits for the jobs that are being worked on, for at most so long, and ends. */
  stop(secondsMax: number): Promise<void>;
};

export type QueueSettings = {
  readonly database: Database;
  readonly log: Log;
  /** A trainer silent for so long has lost its jobs. */
  readonly heartbeatSeconds: number;
};

const POLL_SECONDS = 2;
/** The supervisor bounds runs by itself, far below. */
const EXPIRE_SECONDS = 23 * 3600;

export async function startWorkQueues({ database, log, heartbeatSeconds }: QueueSettings): Promise<WorkQueues> {
  const boss = await startBoss({ database, log, heartbeatSeconds });
  const names: string[] = [];
  return {
    async open(name) {
      names.push(name);
      await openQueue(boss, name, { heartbeatSeconds, isEmbedded: database.isEmbedded });
      return workQueue(boss, name);
    },
    async pause() {
      for (const name of names) await boss.offWork(name, { wait: false });
    },
    stop: (secondsMax) => boss.stop({ graceful: true, timeout: secondsMax * 1000 }),
  };
}

const STARTS_MAX = 6;
const START_PAUSE_MS = 300;

/**
 * pg-boss with its tables. On databases without advisory locks nothing keeps two trainers from making them at the same
 * time: the loser begins again and finds them made.
 */
async function startBoss({ database, log, heartbeatSeconds }: QueueSettings): Promise<PgBoss> {
  const monitorSeconds = Math.ceil(heartbeatSeconds / 3);
  for (let attempt = 1; ; attempt++) {
    const boss = new PgBoss({
      ...database.bossOptions,
      schema: "shortlist_jobs",
      schedule: false,
      superviseIntervalSeconds: monitorSeconds,
      monitorIntervalSeconds: monitorSeconds,
    });
    boss.on("error", (error) => log({ event: "queue", level: "error", error: errorForLog(error) }));
    boss.on("warning", (warning) => log({ event: "queue", level: "warning", message: warning.message }));
    try {
      await boss.start();
      return boss;
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => undefined);
      if (attempt === STARTS_MAX || !wasMadeMeanwhile(error)) throw error;
      await delay(attempt * START_PAUSE_MS);
    }
  }
}

type OpenOptions = { readonly heartbeatSeconds: number; readonly isEmbedded: boolean };

async function openQueue(boss: PgBoss, name: string, { heartbeatSeconds, isEmbedded }: OpenOptions): Promise<void> {
  const options = { heartbeatSeconds, expireInSeconds: EXPIRE_SECONDS, retryLimit: 0, deleteAfterSeconds: 86_400 };
  await boss.createQueue(name, { ...options, policy: "exclusive" });
  await boss.updateQueue(name, options);
  // The only trainer has just started: every job that is said to be worked on is a dead one's.
  if (isEmbedded) await boss.deleteAllJobs(name);
  // Makes pg-boss read the queue now: inside a transaction of the embedded database it could not.
  await boss.findJobs(name, { key: "" });
}

function workQueue<Work extends object>(boss: PgBoss, name: string): WorkQueue<Work> {
  const workerIds: string[] = [];
  return {
    async enqueue(modelKey, work, queries) {
      const inside = queries === undefined ? {} : { db: bossInside(queries) };
      return (await boss.send(name, work, { singletonKey: modelKey, ...inside })) !== null;
    },
    async take(concurrency, handler) {
      for (let i = 0; i < concurrency; i++) {
        const options = { pollingIntervalSeconds: POLL_SECONDS, batchSize: 1 };
        workerIds.push(await boss.work<Work>(name, options, async ([job]) => handler(job!.data)));
      }
    },
    wake: () => {
      for (const id of workerIds) boss.notifyWorker(id);
    },
  };
}
