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

/** Seed of the times and the victims of kills. KILL_ROUNDS=100 makes a longer test. */
const SEED = Number(process.env.KILL_SEED ?? 4);
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const NAMES = [..."abcd"];
const WAIT_MS_MAX = 100_000;
// Without pauses the requests and the checks would take a core from the trainers.
const REQUEST_EVERY_MS = 150;
const CHECK_EVERY_MS = 500;
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

  /** Performs each kind of kill ROUNDS times, in random order, while the victim works, and restarts the victim. */
  async function killAndRestart() {
    const kills = Array.from({ length: ROUNDS }, () => KILLS)
      .flat()
      .map((kill) => [random(), kill] as const)
      .sort(([a], [b]) => a - b);
    for (const [, kill] of kills) {
      await delay(random() * 1000);
      await until(() => world.machines.some((machine) => machine.isWorking()), "No trainer works");
      const machine = oneOf(world.machines.filter((one) => one.isWorking()));
      await machine.kill(kill);
      if (kill === "run") continue;
      await delay(random() * 500);
      await machine.start();
    }
  }

  /** Requests runs from random trainers. */
  async function keepTraining(isOver: () => boolean) {
    let accepted = 0;
    while (!isOver()) {
      const up = world.machines.filter((machine) => machine.isUp());
      const answer = up.length ? await oneOf(up).call("POST", `/v0/models/${oneOf(NAMES)}/train`) : undefined;
      if (answer !== undefined) expect([202, 409]).toContain(answer.status);
      if (answer?.status === 202) accepted++;
      await delay(REQUEST_EVERY_MS);
    }
    return accepted;
  }

  /** Checks every byte of the live versions again and again. Throws when one is incomplete or an older one is live again. */
  async function keepChecking(isOver: () => boolean) {
    const store = s3Store(bucket.s3);
    const newest = new Map<string, string>();
    let checks = 0;
    for (let isLast = false; !isLast; checks++) {
      await delay(CHECK_EVERY_MS);
      isLast = isOver(); // so that one whole round follows the last publication
      for (const name of NAMES) {
        const live = await wholeLiveVersion(async (key) => (await store.get(key))?.bytes, prefixOf("acme", name));
        if (live === null) continue;
        expect(live >= (newest.get(name) ?? "")).toBe(true);
        newest.set(name, live);
      }
    }
    return { checks, newest };
  }

  const unfinished = () =>
    database.query(
      `select model_name, attempt, crashes, trainer_id, now() - seen_at as silent, not_before - now() as pause
       from shortlist.runs`,
    );

  async function until(condition: () => boolean | Promise<boolean>, otherwise: string) {
    const deadlineMs = performance.now() + WAIT_MS_MAX;
    while (!(await condition())) {
      if (performance.now() > deadlineMs) throw new Error(`${otherwise}: ${JSON.stringify(await unfinished())}`);
      await delay(20);
    }
  }

  test("no run is lost, none works twice at once, and live versions are always complete", {
    timeout: TIMEOUT,
  }, async () => {
    const body = (name: string) => specOf(name, String(witness.port));
    for (const name of NAMES)
      expect((await oneOf(world.machines).call("POST", "/v0/models", { body: body(name) }))?.status).toBe(201);
    // Some models train for the first time during the kills, others again.
    await until(async () => (await unfinished()).length <= NAMES.length / 2, "No run has ended");
    let [isCalm, isOver] = [false, false];
    const checking = keepChecking(() => isOver);
    const training = keepTraining(() => isCalm);
    for (const step of [checking, training]) step.catch(() => undefined); // awaited below
    await killAndRestart();
    isCalm = true;
    const accepted = await training;
    await until(async () => (await unfinished()).length === 0, "Runs are lost");
    isOver = true;
    const { checks, newest } = await checking;
    console.log(`${3 * ROUNDS} kills, ${accepted} retrains, ${witness.seen()} processes of runs, ${checks} checks.`);

    expect(witness.together).toEqual([]);
    const models = await database.query("select failure, count(*)::int4 as n from shortlist.models group by failure");
    expect(models).toEqual([{ failure: null, n: NAMES.length }]); // each newest run has published
    expect(witness.seen()).toBeGreaterThanOrEqual(NAMES.length + accepted);
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
