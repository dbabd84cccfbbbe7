/** Ten clients send events while shards and bucket fail and workerd is killed: each event is in lists and files exactly once.
 * EVENT_CALLS=500 sends 100,000 events, in some minutes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";
import { exportedFiles } from "../../fixtures/exported-events.ts";
import { killWorkerd } from "../../fixtures/kill-workerd.ts";

const [CLIENTS, CALLS, PER_CALL, USERS] = [
  10,
  Number(process.env.EVENT_CALLS ?? 10),
  20,
  2 * Number(process.env.EVENT_CALLS ?? 10),
];
const SHARDS = ["acme/0-0", "acme/0-1", "acme/0-2", "acme/0-3"];
const KILLS = CALLS / 10;
const TIMEOUT = 12_000 * CALLS;
const FAULTS: readonly Parameters<EdgeWorld["inject"]>[0][] = [
  undefined,
  { keys: "shard:", kind: "error", chance: 0.5 },
  { keys: "shard:", kind: "unanswered", chance: 0.5 },
  { keys: "shard:", kind: "hang", chance: 0.2 },
  { keys: "shard:", kind: "slow", slowMs: 100 },
  { keys: "events/files", kind: "error" },
  { keys: "events/files", kind: "unanswered" },
  { keys: "customers/", kind: "error", chance: 0.3 },
];

let directory: string;
let edge: EdgeWorld;
let key: string;
const start = async () => {
  const vars = { EVENT_EXPORT_SECONDS: 1, EVENTS_TIMEOUT_MS: 500, READ_TIMEOUT_MS: 300 };
  edge = await startEdge({ r2Directory: directory, vars });
};
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "edge-faults-"));
  await start();
  await edge.publish({ events: { meanings: { view: { label: true, seen: true } }, learnt: {} } });
  ({ key } = await edge.issueKey());
});
afterAll(async () => {
  await edge?.stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends one batch until it is accepted, as a client does. Returns the number of attempts. */
async function send(events: readonly object[]): Promise<number> {
  for (let attempts = 1; ; attempts++) {
    const status = await edge.call("/v0/events", { key, body: { events } }).then(
      (answer) => answer.status,
      () => 0, // workerd is not there
    );
    if (status === 200) return attempts;
    if (status !== 0 && status < 500) throw new Error(`the edge answered ${status}`);
    await sleep(50);
  }
}

test(`${CLIENTS * CALLS * PER_CALL} events`, { timeout: TIMEOUT }, async () => {
  const random = seededRandom(11);
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    let attempts = 0;
    for (let call = 0; call < CALLS; call++) {
      const batch = Array.from({ length: PER_CALL }, (_, i) => {
        const user_id = `u${(client * 7 + call * PER_CALL + i) % USERS}`;
        return { event_id: `${client}-${call}-${i}`, user_id, item_id: `i${i % 8}`, type: "view" };
      });
      attempts += await send(batch);
    }
    return attempts;
  });
  let isRunning = true;
  const disturb = async () => {
    for (let round = 1; isRunning; round++) {
      await edge.inject(FAULTS[Math.floor(random() * FAULTS.length)]);
      await sleep(200);
      if (round % 6 !== 0 || round / 6 > KILLS) continue;
      await killWorkerd();
      await edge.stop();
      await start();
    }
    await edge.inject(undefined);
  };
  const disturbed = disturb();
  const attempts = (await Promise.all(clients)).reduce((sum, own) => sum + own, 0);
  isRunning = false;
  await disturbed;
  expect(attempts).toBeGreaterThan(CLIENTS * CALLS); // the faults were felt

  // A file that could not be written comes first, and what was sent since then comes with the next alarm.
  for (const shard of [...SHARDS, ...SHARDS]) await edge.alarm(shard);
  const files = await exportedFiles(edge.store, "acme");
  const ids = files.flatMap(({ events }) => events.map(({ event_id }) => event_id));
  expect([ids.length, new Set(ids).size]).toEqual([CLIENTS * CALLS * PER_CALL, CLIENTS * CALLS * PER_CALL]);
  let used = 0;
  for (let user = 0; user < USERS; user++)
    used += Number((await edge.call(`/v0/models/shop/rank?user_id=u${user}`, { key })).headers.get("x-events"));
  expect(used).toBe(CLIENTS * CALLS * PER_CALL);
});
