import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { prefixOf } from "../../../shared/manifest.ts";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { type Database, openDatabase } from "../../../trainer/manage/records/database.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../../fixtures/local-r2.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../../fixtures/postgres-server.ts";
import { type RunWitness, startRunWitness } from "../../fixtures/run-witness.ts";
import { KILLS, startMachines } from "../../fixtures/trainer-machines.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";
import { wholeLiveVersion } from "../../fixtures/whole-version.ts";

const bin = findPostgres();
if (bin === undefined) console.warn("Skipped: no Postgres server is installed here, so no trainers that share one.");

/** The seed of the moments and the victims; KILL_ROUNDS=100 for a longer siege. */
const SEED = Number(process.env.KILL_SEED ?? 4);
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const NAMES = [..."abcdef"];
const WAIT_MS_MAX = 100_000;
const LOOK_EVERY_MS = 100; // without a pause looking takes a core from those who are looked at
const TIMEOUT = 240_000 + ROUNDS * 30_000;

describe.skipIf(bin === undefined)("three trainers on one Postgres, killed at random moments", () => {
  let server: PostgresServer;
  let bucket: Awaited<ReturnType<typeof startLocalR2>>;
  let witness: RunWitness;
  let database: Database;
  let world: Awaited<ReturnType<typeof startMachines>>;
  beforeAll(async () => {
    [server, bucket, witness] = await Promise.all([startPostgres(bin!), startLocalR2(), startRunWitness()]);
    const databaseUrl = `postgres://owner:${encodeURIComponent(server.password)}@127.0.0.1:${server.port}/postgres`;
    world = await startMachines(3, { folder: await freshFolder(), databaseUrl, s3: bucket.s3, witness });
    database = await openDatabase(databaseUrl, "");
  });
  afterAll(async () => {
    await world?.stop();
    await database?.close();
    await Promise.all([server?.stop(), bucket?.stop(), witness?.stop()]);
  });

  const random = seededRandom(SEED);
  const oneOf = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)]!;

  /** Each kind of kill so many times, in a drawn order, at drawn moments in which the victim works; brings it back. */
  async function besiege() {
    const kills = Array.from({ length: ROUNDS }, () => KILLS)
      .flat()
      .map((kill) => [random(), kill] as const)
      .sort(([a], [b]) => a - b);
    for (const [, kill] of kills) {
      await delay(random() * 1000);
      await until(() => world.machines.some((machine) => machine.isWorking()), "Nobody works on anything");
      const machine = oneOf(world.machines.filter((one) => one.isWorking()));
      await machine.kill(kill);
      if (kill === "run") continue;
      await delay(random() * 500);
      await machine.start();
    }
  }

  /** Asks whatever trainer is there for one run after the other. */
  async function keepTraining(isOver: () => boolean) {
    let accepted = 0;
    while (!isOver()) {
      const up = world.machines.filter((machine) => machine.isUp());
      const answer = up.length ? await oneOf(up).call("POST", `/v0/models/${oneOf(NAMES)}/train`) : undefined;
      if (answer !== undefined) expect([202, 409]).toContain(answer.status);
      if (answer?.status === 202) accepted++;
      await delay(20);
    }
    return accepted;
  }

  /** Looks at every byte of what is live, over and over; throws when a version is torn or an older one comes back. */
  async function keepLooking(isOver: () => boolean) {
    const store = s3Store(bucket.s3);
    const newest = new Map<string, string>();
    let looks = 0;
    for (let isLast = false; !isLast; looks++) {
      await delay(LOOK_EVERY_MS);
      isLast = isOver(); // what was published before that is seen by a whole round
      for (const name of NAMES) {
        const live = await wholeLiveVersion(async (key) => (await store.get(key))?.bytes, prefixOf("acme", name));
        if (live === null) continue;
        expect(live >= (newest.get(name) ?? "")).toBe(true);
        newest.set(name, live);
      }
    }
    return { looks, newest };
  }

  const unfinished = () =>
    database.query(
      `select model_name, attempt, crashes, trainer_id, now() - seen_at as silent, not_before - now() as pause
       from shortlist.runs where finished_at is null`,
    );

  async function until(isSo: () => boolean | Promise<boolean>, otherwise: string) {
    const deadlineMs = performance.now() + WAIT_MS_MAX;
    while (!(await isSo())) {
      if (performance.now() > deadlineMs) throw new Error(`${otherwise}: ${JSON.stringify(await unfinished())}`);
      await delay(20);
    }
  }

  test("no run is lost, none is done twice at once, and what is live is always whole", {
    timeout: TIMEOUT,
  }, async () => {
    const body = (name: string) => specOf(name, String(witness.port));
    for (const name of NAMES)
      expect((await oneOf(world.machines).call("POST", "/v0/models", { body: body(name) }))?.status).toBe(201);
    // Some are trained for the first time under siege, some again.
    await until(async () => (await unfinished()).length <= NAMES.length / 2, "Nothing is done");
    let [isCalm, isOver] = [false, false];
    const looking = keepLooking(() => isOver);
    const training = keepTraining(() => isCalm);
    for (const step of [looking, training]) step.catch(() => undefined); // told below
    await besiege();
    isCalm = true;
    const accepted = await training;
    await until(async () => (await unfinished()).length === 0, "Runs are lost");
    isOver = true;
    const { looks, newest } = await looking;
    console.log(`${3 * ROUNDS} kills, ${accepted} retrains, ${witness.seen()} processes of runs, ${looks} looks.`);

    expect(witness.together).toEqual([]);
    const runs = await database.query("select outcome, count(*)::int4 as n from shortlist.runs group by outcome");
    expect(runs).toEqual([{ outcome: "published", n: expect.any(Number) }]);
    expect(runs[0]!.n).toBeGreaterThanOrEqual(NAMES.length + accepted);
    for (const machine of world.machines)
      for (const name of NAMES)
        expect((await machine.call("GET", `/v0/models/${name}`))?.body).toMatchObject({
          status: "ACTIVE",
          version: newest.get(name),
          failure: null,
          training: { state: "IDLE" },
        });
  });
});
