import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { userHash } from "../../../shared/hash.ts";
import type { UserId } from "../../../shared/ids.ts";
import { blobKey, type Manifest, replayKey, reportKey } from "../../../shared/manifest.ts";
import { stringAt } from "../../../shared/packed-strings.ts";
import type { UserRecord } from "../../../shared/snapshot.ts";
import { decodeUserDirectory } from "../../../shared/user-records.ts";
import { decodeUserValues } from "../../../shared/user-values.ts";
import { measureScenario } from "../../../trainer/choose/scenarios/measure-scenario.ts";
import { decodeReplay } from "../../../trainer/choose/scenarios/replay.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { tastesByCity } from "../../fixtures/tastes-by-city.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";
import { decodeUserPage } from "../../fixtures/user-page.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
const data = tastesByCity({ users: 1600, items: 40, perUser: 9 });
const SALT = "5a".repeat(16);
const CITIES = ["Bonn", "Ulm"];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "user-values-"));
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < data.userCount; user++)
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++)
      rows.push(`u${user},${stringAt(data.itemIds, data.items[row]!)},${data.times[row]},1`);
  await writeFile(join(folder, "interactions.csv"), rows.join("\n"));
  const people = Array.from({ length: data.userCount }, (_, user) => `u${user},${CITIES[user % 2]},${(user >> 1) % 3}`);
  const withoutHistory = ["new-0,Bonn,0", "new-1,Ulm,1", "erased-1,Ulm,1", "new-2,Nowhere,"];
  await writeFile(join(folder, "users.csv"), ["user_id,city,team", ...people, ...withoutHistory].join("\n"));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(users: string | undefined, more: { memoryMbMax?: number } = {}) {
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  const hashes = await Promise.all(["erased-1", "u7"].map((user) => erasureHash(SALT, user as UserId)));
  await addErasedUsers(store, model.customer, { salt: SALT, hashes });
  const { location, schema } = interactionsCsv();
  const source = users === undefined ? {} : { source: { query: users } };
  const { outcome, data: summary } = await trainOnFiles({
    model,
    folder,
    location,
    schema: { ...schema, user: { ...schema.user, ...source } },
    store,
    nowMs: NOW,
    connector: { memoryMb: 256 },
    settings: { fitSecondsMax: 1, ...more },
  });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  const manifest = (await readManifest(store, model, outcome.version))!;
  const report = await store.get(reportKey(model.customer, model.modelName, outcome.version));
  const { chosen, user_attributes } = EvaluationReport.parse(JSON.parse(new TextDecoder().decode(report!.bytes)));
  return { store, manifest, summary, outcome, report: user_attributes, chosen };
}

const blob = async (store: ObjectStore, digest: string) =>
  (await store.get(blobKey(model.customer, model.modelName, digest)))!.bytes;

async function recordOf(store: ObjectStore, manifest: Manifest, user: string): Promise<UserRecord | undefined> {
  const directory = decodeUserDirectory(await blob(store, manifest.users!.directory.digest));
  expect(directory.userCount).toBe(manifest.user_count);
  const hash = await userHash(directory.salt, user as UserId);
  const place = directory.find(hash)!;
  const file = await blob(store, manifest.users!.pages[place.file]!.digest);
  return decodeUserPage(file.slice(place.offset, place.offset + place.length), hash, manifest.item_count);
}

/** The ten best items for a user who has these attribute values. */
async function bestOf(store: ObjectStore, manifest: Manifest, values: readonly number[]) {
  const { score } = decodeUserValues(await blob(store, manifest.user_values!.digest));
  const scores = score(values);
  const order = Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]!);
  return order.slice(0, 10);
}

test.each<[string, { memoryMbMax?: number }]>([
  ["in memory", {}],
  ["through the disk, when interactions are more than memory", { memoryMbMax: 0.45 }],
])("attribute values rank items for users without a history: %s", { timeout: 120_000 }, async (_, settings) => {
  const { store, manifest, report, summary, outcome, chosen } = await run("SELECT * FROM users", settings);
  expect(manifest.format).toBe(2);
  expect(report).toMatchObject({
    served: true,
    attributes: [{ name: "city", values: 2, kept: true }, { name: "team" }],
  });
  expect(report!.lift["ndcg@10"]!.low).toBeGreaterThan(0.05);

  // Users with interactions except the erased one, and the two users without a history whose city is frequent.
  expect(summary!.users).toBe(1599);
  expect(manifest.user_count).toBe(1601);
  const [bonn, ulm] = await Promise.all(["new-0", "new-1"].map((user) => recordOf(store, manifest, user)));
  expect([bonn!.items, ulm!.items]).toEqual([[], []]);
  expect(bonn!.values!.length).toBeGreaterThan(0);
  for (const user of ["erased-1", "u7", "new-2", "nobody"])
    expect([user, await recordOf(store, manifest, user)]).toEqual([user, undefined]);
  const known = (await recordOf(store, manifest, "u2"))!;
  expect(known.items.length).toBeGreaterThan(0);
  const { attributesOf } = decodeUserValues(await blob(store, manifest.user_values!.digest));
  expect([known, bonn, ulm].map((one) => attributesOf(one!.values!).city)).toEqual(["Bonn", "Bonn", "Ulm"]);
  const [ofBonn, ofUlm] = [await bestOf(store, manifest, bonn!.values!), await bestOf(store, manifest, ulm!.values!)];
  expect(ofBonn.filter((item) => ofUlm.includes(item)).length).toBeLessThan(3);

  // Lists that are made again for a scenario are those of the report, also for users without a history.
  const replay = (await store.get(replayKey(model.customer, model.modelName, outcome.version)))!.bytes;
  const { without } = await measureScenario(
    decodeReplay(replay),
    { limit: 20 },
    { signal: AbortSignal.timeout(60_000) },
  );
  for (const [name, { value }] of Object.entries(chosen.metrics)) expect(without[name]!.value).toBeCloseTo(value!, 9);
});

test("attributes that neither help nor have names are not stored, and users without a history have no record", {
  timeout: 120_000,
}, async () => {
  const { store, manifest, report } = await run("SELECT user_id, team FROM users");
  expect(report).toMatchObject({ served: false, params: {} });
  expect([manifest.format, manifest.user_values, manifest.user_count]).toEqual([1, undefined, 1599]);
  expect((await recordOf(store, manifest, "u2"))!.values).toEqual([]);
  expect(await recordOf(store, manifest, "new-0")).toBeUndefined();
});

test("without a user query no attributes are evaluated", { timeout: 120_000 }, async () => {
  const { manifest, report } = await run(undefined);
  expect([report, manifest.format, manifest.user_count]).toEqual([null, 1, 1599]);
});
