/** Experiments through a real edge and a real trainer. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ExperimentAnswer } from "../../shared/experiment/answer.ts";
import { armOf, isCounted, type RunningExperiment } from "../../shared/experiment/running.ts";
import type { UserId } from "../../shared/ids.ts";
import { readLivePointer } from "../../trainer/store/live-pointer-swap.ts";
import { sweep } from "../../trainer/store/sweep.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

let service: WholeService;
let [older, live] = ["", ""];
beforeAll(async () => {
  service = await startWholeService();
  older = (await service.edge.publish()).version;
  live = (await service.edge.publish()).version;
  await service.trainer.create("shop", `publish ${live}`);
  await service.trainer.until("shop", (record) => record.version === live);
});
afterAll(() => service.stop());

const EXPERIMENT = "/v0/models/shop/experiment";
const MODEL = { customer: "acme", modelName: "shop" };
type Body = Record<string, unknown> & { code: string; errors: { pointer: string }[]; version: string; arm: unknown };
const call = async (method: string, path: string, body?: unknown, headers = {}) => {
  const answer = await service.edge.call(path, { method, body, headers });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body };
};
const rank = (fields: object) => call("POST", "/v0/models/shop/rank", fields);
const armOfCall = async (fields: object) => (await rank(fields)).headers.get("x-arm");
const put = (fields: object = {}) =>
  call("PUT", EXPERIMENT, {
    name: "first",
    arms: [
      { name: "now", share: 0.5 },
      { name: "before", share: 0.5, version: older },
    ],
    goal: { type: "purchase", within_hours: 24 },
    ...fields,
  });
const report = async () => {
  const { body } = await call("GET", EXPERIMENT);
  const known = ExperimentAnswer.parse(body);
  expect(known).toEqual(body); // nothing that is not documented
  return known;
};
/** Resolves when so many users were counted: an exposure is stored after the answer. */
const exposed = (users: number) =>
  vi.waitFor(async () => {
    const { arms } = await report();
    expect(arms.reduce((sum, arm) => sum + arm.exposed, 0)).toBe(users);
    return arms;
  }, 30_000);
const running = async () => (await readLivePointer(service.edge.store, MODEL))!.pointer.experiment as RunningExperiment;
const users = Array.from({ length: 40 }, (_, i) => `u${i}`);
const buy = (user: string, more: object = {}) =>
  call("POST", "/v0/events", { events: [{ user_id: user, item_id: "i1", type: "purchase", ...more }] });

beforeEach(() => call("DELETE", EXPERIMENT));

test("each user always gets the arm of the user's bucket, with the arm's version, and counts once", async () => {
  expect((await put()).status).toBe(200);
  const experiment = await running();
  const armsOf = new Map<string, number>();
  for (const user_id of [...users, ...users]) {
    const { headers, body } = await rank({ user_id, return: [] });
    const arm = armOf(experiment, user_id)!;
    expect([headers.get("x-arm"), body.arm, body.version]).toEqual([arm.name, arm.name, arm.version?.version ?? live]);
    armsOf.set(arm.name, (armsOf.get(arm.name) ?? 0) + 1);
  }
  const counted = await exposed(users.length);
  expect(counted.map(({ name, exposed }) => [name, 2 * exposed])).toEqual(
    [...armsOf].sort(([a], [b]) => (a > b ? -1 : 1)),
  );
  expect(counted.every(({ exposed }) => exposed > 8)).toBe(true);
  const { history } = await report();
  expect(history.at(-1)!.arms.map(({ exposed }) => exposed)).toEqual(counted.map(({ exposed }) => exposed));
});

test("the goal counts for users who reach it in time after their first list, once", async () => {
  await put({ guard: { type: "return", within_hours: 1 } });
  await buy("u1"); // before the list
  for (const user_id of ["u1", "u2", "u3", "u4", "u5"]) await rank({ user_id });
  await exposed(5);
  const in25Hours = new Date(Date.now() + 200_000).toISOString();
  await buy("u2");
  await buy("u2");
  await buy("u3", { created_at: in25Hours });
  await buy("u4", { created_at: new Date(Date.now() - 3_600_000).toISOString() });
  await buy("u5", { type: "return" });
  await buy("stranger");
  const { arms, verdict } = await report();
  expect(arms.reduce((sum, { reached }) => sum + reached, 0)).toBe(2);
  expect(arms.reduce((sum, { guard_reached }) => sum + guard_reached!, 0)).toBe(1);
  expect(verdict).toBe("running");
});

test("an anonymous caller is known by the session; without one, and for similar items, a call takes no part", async () => {
  await put();
  const experiment = await running();
  for (const session_id of ["s1", "s2", "s3"])
    expect(await armOfCall({ session_id })).toBe(armOf(experiment, session_id)!.name);
  expect((await call("GET", "/v0/models/shop/rank?session_id=s1")).headers.get("x-arm")).toBe(
    armOf(experiment, "s1")!.name,
  );
  expect(await armOfCall({})).toBeNull();
  const similar = await call("POST", "/v0/models/shop/similar_items", { item_id: "i1", user_id: "u1" });
  expect([similar.status, similar.headers.get("x-arm")]).toEqual([200, null]);
  expect((await rank({ return: [] })).body).toMatchObject({ arm: null, version: live });
  await exposed(3);
});

test("arms may differ in their scenario, or show popular items", async () => {
  await call("PUT", "/v0/models/shop/scenarios/short", { limit: 2, return: ["scores"] });
  const arms = [
    { name: "now", share: 0.4 },
    { name: "short", share: 0.3, scenario: "short" },
    { name: "popular", share: 0.3, strategy: "popular" },
  ];
  expect((await put({ name: "second", arms })).status).toBe(200);
  const experiment = await running();
  const session = [{ item_id: "i1" }];
  for (const user_id of users.slice(0, 20)) {
    const { headers, body } = await rank({ user_id, interactions: session, return: [] });
    const { name } = armOf(experiment, user_id)!;
    expect(headers.get("x-arm")).toBe(name);
    expect((body.items as unknown[]).length === 2).toBe(name === "short");
    expect(body.scenario).toBe(name === "short" ? "short" : null);
    expect(headers.get("x-rank-strategy") === "popular").toBe(name === "popular");
  }
  expect(await armOfCall({ user_id: "u1", scenario: "short" })).toBeNull();
  const inArm = users.find((user) => armOf(experiment, user)!.name === "short")!;
  expect((await rank({ user_id: inArm })).body).toHaveLength(2); // a bare list, since the caller names no scenario
  // A scenario that is deleted meanwhile is no reason to fail.
  await call("DELETE", "/v0/models/shop/scenarios/short");
  const answer = await rank({ user_id: inArm });
  expect([answer.status, answer.headers.get("x-scenario-problem")]).toEqual([200, expect.stringContaining("short")]);
});

test("changed shares move few users, and the arm that is kept becomes permanent", async () => {
  await call("PUT", "/v0/models/shop/scenarios/short", { limit: 2 });
  const arms = (share: number) => [
    { name: "now", share: 1 - share },
    { name: "short", share, scenario: "short", version: older },
  ];
  await put({ name: "third", arms: arms(0.2) });
  const before = await running();
  expect((await put({ name: "third", arms: arms(0.3) })).body).toMatchObject({ revision: 2 });
  const after = await running();
  const moved = users.filter((user) => armOf(before, user)!.name !== armOf(after, user)!.name);
  expect(moved.length).toBeLessThan(0.3 * users.length);
  expect(
    users.filter((user) => armOf(before, user)!.name === "short").every((user) => armOf(after, user)!.name === "short"),
  ).toBe(true);
  expect((await call("DELETE", EXPERIMENT, { keep: "short" })).body).toMatchObject({ keep: "short" });
  const { headers, body } = await rank({ user_id: "u1", return: [] });
  expect([headers.get("x-arm"), body.version, body.scenario]).toEqual([null, older, "short"]);
  expect((await call("GET", "/v0/models/shop")).body.version).toBe(older);
  await service.trainer.call("POST", `/v0/models/shop/versions/${live}/activate`);
  await put({ name: "fourth" });
  await call("DELETE", EXPERIMENT, { keep: "now" });
  expect((await rank({ user_id: "u1", return: [] })).body).toMatchObject({ version: live, scenario: null });
});

test("what cannot be compared is refused with its reason", async () => {
  const refused = async (fields: object) => {
    const { status, body } = await put(fields);
    return [status, body.code, ...(body.errors ?? []).map(({ pointer }) => pointer)];
  };
  const arm = (fields: object) => [
    { name: "now", share: 0.5 },
    { name: "b", share: 0.5, ...fields },
  ];
  expect(await refused({ arms: arm({ version: "20200101T000000000Z-00000000" }) })).toEqual([404, "version_not_found"]);
  expect(await refused({ arms: arm({ scenario: "none" }) })).toEqual([404, "scenario_not_found"]);
  expect(await refused({ arms: arm({ share: 0.4 }) })).toEqual([400, "invalid_parameter", "/arms"]);
  expect(await refused({ arms: arm({ name: "now" }) })).toEqual([400, "invalid_parameter", "/arms"]);
  expect(await refused({ arms: arm({ strategy: "random" }) })).toEqual([400, "invalid_parameter", "/arms/1/strategy"]);
  expect(await refused({ arms: [{ name: "now", share: 0.9 }] })).toEqual([400, "invalid_parameter", "/arms", "/arms"]);
  expect(await refused({ goal: { type: "purchase", within_hours: 1000 } })).toEqual([
    400,
    "invalid_parameter",
    "/goal/within_hours",
  ]);
  expect(await refused({ arm: 1 })).toEqual([400, "unknown_field", "/arm"]);
  expect((await call("GET", EXPERIMENT)).body.code).toBe("experiment_not_found");
  expect((await call("DELETE", EXPERIMENT)).body.code).toBe("experiment_not_found");
  await put();
  expect(await refused({ name: "another" })).toEqual([409, "experiment_running"]);
  expect(await refused({ goal: { type: "view", within_hours: 24 } })).toEqual([409, "experiment_running"]);
  expect(
    await refused({
      arms: [
        { name: "now", share: 0.5 },
        { name: "before", share: 0.5 },
      ],
    }),
  ).toEqual([409, "experiment_running"]);
  expect((await call("DELETE", EXPERIMENT, { keep: "none" })).body.code).toBe("invalid_parameter");
  const { key } = await service.edge.issueKey({ scopes: ["rank", "events"] });
  expect((await call("GET", EXPERIMENT, undefined, { "x-api-key": key })).status).toBe(403);
  const other = await service.edge.issueKey({ customer: "other" });
  expect((await call("GET", EXPERIMENT, undefined, { "x-api-key": other.key })).body.code).toBe("model_not_found");
  expect((await call("DELETE", EXPERIMENT, undefined, { "x-api-key": other.key })).body.code).toBe("model_not_found");
});

test("of very many users, a sample is counted, and the report says so", async () => {
  await put({ sample: 0.3 });
  const experiment = await running();
  for (const user_id of users) expect(await armOfCall({ user_id })).toBe(armOf(experiment, user_id)!.name);
  const counted = users.filter((user) => isCounted(experiment, user)).length;
  expect(counted).toBeGreaterThan(3);
  expect(counted).toBeLessThan(25);
  await exposed(counted);
  expect((await report()).sample).toBe(0.3);
  expect((await put({ sample: 0.5 })).body.code).toBe("experiment_running");
});

test("an erased user is not counted", async () => {
  await put();
  for (const user_id of ["gone", "u1"]) await rank({ user_id });
  await exposed(2);
  expect((await call("POST", "/v0/users/erase", { user_id: "gone" })).status).toBe(202);
  await exposed(1);
});

test("a new version keeps the experiment, whose versions a sweep does not delete", async () => {
  await put();
  const before = await running();
  for (let i = 0; i < 3; i++) await service.edge.publish();
  expect(await running()).toEqual(before);
  const kept = { keepVersions: 1, graceMs: 0, signal: new AbortController().signal };
  const nowMs = Date.now() + 10 * 24 * 3_600_000;
  await sweep(service.edge.store, MODEL, { nowMs, ...kept });
  const inBefore = users.find((user) => armOf(before, user as UserId)!.name === "before")!;
  expect((await rank({ user_id: inBefore, return: [] })).body).toMatchObject({ version: older, arm: "before" });
  // Unless a record of an erased user is in it: then the experiment ends.
  await sweep(service.edge.store, MODEL, { nowMs, ...kept, spentBeforeMs: nowMs });
  expect((await rank({ user_id: inBefore, return: [] })).body).toMatchObject({ arm: null });
});
