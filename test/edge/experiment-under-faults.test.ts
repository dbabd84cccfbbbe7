/** An experiment whose shares change and whose arm is removed under load, while shards fail. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ExperimentAnswer } from "../../shared/experiment/answer.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const EXPERIMENT = "/v0/models/shop/experiment";
const USERS = 180;
const LANES = 6;
const CHANGES = [
  { a: 0.5, b: 0.45, c: 0.05 },
  { a: 0.6, b: 0.4 },
  { a: 0.4, b: 0.6 },
];
const PURCHASE = { type: "purchase", within_hours: 24 };

let service: WholeService;
beforeAll(async () => {
  service = await startWholeService({ edge: { vars: { POINTER_CACHE_SECONDS: 1, EVENTS_TIMEOUT_MS: 200 } } });
  const { version } = await service.edge.publish();
  await service.trainer.create("shop", `publish ${version}`);
  await service.trainer.until("shop", (record) => record.version === version);
});
afterAll(() => service.stop());

const put = async (shares: Readonly<Record<string, number>>) => {
  const arms = Object.entries(shares).map(([name, share]) => ({ name, share }));
  const answer = await service.edge.call(EXPERIMENT, { method: "PUT", body: { name: "loaded", arms, goal: PURCHASE } });
  return { status: answer.status, body: (await answer.json()) as { code?: string; detail?: string } };
};
const report = async () => (await (await service.edge.call(EXPERIMENT)).json()) as ExperimentAnswer;

test("every list is answered, and every user counts once", async () => {
  await put({ a: 0.5, b: 0.5 });
  const seen = new Map<string, Set<string | null>>();
  const failures: number[] = [];
  const rank = async (user: number) => {
    const answer = await service.edge.call(`/v0/models/shop/rank?user_id=u${user}`);
    await answer.arrayBuffer();
    if (answer.status !== 200) failures.push(answer.status);
    seen.set(`u${user}`, (seen.get(`u${user}`) ?? new Set()).add(answer.headers.get("x-arm")));
  };
  let isOver = false;
  const lane = async (first: number) => {
    for (let user = first; !isOver; user = (user + LANES) % USERS) {
      await rank(user);
      await new Promise((done) => setTimeout(done, 30));
    }
  };
  const whenSeen = (users: number) =>
    vi.waitFor(() => expect(seen.size).toBeGreaterThanOrEqual(users), { timeout: 60_000, interval: 20 });
  await service.edge.inject({ keys: "shard:", kind: "error" });
  const lanes = Array.from({ length: LANES }, (_, i) => lane(i));
  for (const [i, shares] of CHANGES.entries()) {
    await whenSeen((i + 1) * 30);
    expect((await put(shares)).status).toBe(200);
    await service.edge.inject(i === 0 ? { keys: "shard:", kind: "slow", slowMs: 50 } : undefined);
  }
  await whenSeen(USERS);
  isOver = true;
  await Promise.all(lanes);
  expect(service.edge.log.filter((line) => line.includes("exposure_not_stored")).length).toBeGreaterThan(5);
  expect(failures).toEqual([]);
  expect([...seen.values()].every((arms) => [...arms].every((arm) => ["a", "b", "c"].includes(arm!)))).toBe(true);

  const again = await put({ a: 0.5, b: 0.45, c: 0.05 });
  expect([again.status, again.body.code]).toEqual([409, "experiment_running"]); // its users would count again
  await service.edge.idle(11_000);
  for (let user = 0; user < USERS; user++) await rank(user); // what a shard did not store is stored now
  const mayBeC = [...seen.values()].filter((arms) => arms.has("c")).length;
  await vi.waitFor(
    async () => {
      const { arms, sample_ratio_mismatch } = await report();
      const exposed = arms.reduce((sum, arm) => sum + arm.exposed, 0);
      expect(exposed).toBeLessThanOrEqual(USERS);
      expect(exposed).toBeGreaterThanOrEqual(USERS - mayBeC);
      expect(sample_ratio_mismatch).toBe(false);
    },
    { timeout: 30_000, interval: 500 },
  );
});
