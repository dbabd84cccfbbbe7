/** Ids are merged while events arrive, shards and bucket fail, and workerd is killed: each event is in the person's lists, and in what a
 * training reads, exactly once. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jsonRows } from "../../../trainer/read/connectors/connector.ts";
import { connectEvents } from "../../../trainer/read/connectors/events/events.ts";
import { fetchEvents } from "../../../trainer/read/connectors/events/fetch-events.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";
import { killWorkerd } from "../../fixtures/kill-workerd.ts";
import { fileSettings } from "../../fixtures/real-data.ts";

const [PERSONS, ROUNDS, KILLS] = [12, 6, 2];
const SHARDS = ["acme/0-0", "acme/0-1", "acme/0-2", "acme/0-3"];
const MEANINGS = { view: { label: true, seen: true } };
const FAULTS: readonly Parameters<EdgeWorld["inject"]>[0][] = [
  { keys: "shard:", kind: "error", chance: 0.3 },
  { keys: "shard:", kind: "unanswered", chance: 0.3 },
  { keys: "events/files", kind: "unanswered" },
  undefined,
];

let directory: string;
let edge: EdgeWorld;
let key: string;
const start = async () => {
  const vars = { EVENT_EXPORT_SECONDS: 1, EVENTS_TIMEOUT_MS: 500, READ_TIMEOUT_MS: 300 };
  edge = await startEdge({ r2Directory: join(directory, "r2"), vars });
};
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "edge-merges-"));
  await start();
  await edge.publish({ events: { meanings: MEANINGS, learnt: {} } });
  ({ key } = await edge.issueKey());
});
afterAll(async () => {
  await edge?.stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const idsOf = (person: number) => ["first", "second", "known"].map((name) => `${name}-${person}`);

/** Repeats a call until it is accepted, as a client does. */
async function until200(path: string, body: object): Promise<void> {
  for (;;) {
    const answer = await edge.call(path, { key, body }).catch(() => undefined); // workerd is not there
    if (answer?.status === 200) return;
    if (answer && answer.status < 500) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    await sleep(50);
  }
}

test("none is lost and none counts twice", { timeout: 120_000 }, async () => {
  const live = async (person: number) => {
    const [first, second, known] = idsOf(person);
    for (let round = 0; round < ROUNDS; round++) {
      const events = [first, second, known].map((user_id, i) => ({
        ...{ event_id: `${person}-${round}-${i}`, user_id, item_id: `i${(round + i) % 8}`, type: "view" },
      }));
      const calls = [until200("/v0/events", { events })];
      if (round === person % ROUNDS) calls.push(until200(`/v0/users/${second}/merge`, { from: first }));
      if (round === (person + 2) % ROUNDS) calls.push(until200(`/v0/users/${known}/merge`, { from: second }));
      await Promise.all(calls);
    }
  };
  let isRunning = true;
  const disturb = async () => {
    for (let round = 0; isRunning; round++) {
      await edge.inject(FAULTS[round % FAULTS.length]);
      await sleep(150);
      if (round % 4 !== 2 || round / 4 > KILLS) continue;
      await killWorkerd();
      await edge.stop();
      await start();
    }
    await edge.inject(undefined);
  };
  const disturbed = disturb();
  await Promise.all(Array.from({ length: PERSONS }, (_, person) => live(person)));
  isRunning = false;
  await disturbed;

  for (let person = 0; person < PERSONS; person++)
    for (const id of idsOf(person)) {
      const answer = await edge.call(`/v0/models/shop/rank?user_id=${id}`, { key });
      expect([id, answer.status, answer.headers.get("x-events")]).toEqual([id, 200, String(3 * ROUNDS)]);
    }

  for (const shard of [...SHARDS, ...SHARDS]) await edge.alarm(shard);
  const signal = new AbortController().signal;
  const options = { store: edge.store, customer: "acme", directory: join(directory, "copies"), signal };
  const events = await fetchEvents(MEANINGS, options);
  const connector = await connectEvents(
    { type: "Events" },
    { customer: "acme", settings: fileSettings([], directory), events },
  );
  const query = "SELECT user_id, count(*) AS n, count(DISTINCT event_id) AS ids FROM events GROUP BY 1 ORDER BY 1";
  const rows = await jsonRows(await connector.read(query, { signal }));
  await connector.close();
  const expected = Array.from({ length: PERSONS }, (_, person) => `known-${person}`).sort();
  expect(rows.map(({ user_id, n, ids }) => [user_id, Number(n), Number(ids)])).toEqual(
    expected.map((id) => [id, 3 * ROUNDS, 3 * ROUNDS]),
  );
});
