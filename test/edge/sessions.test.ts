/** A model of sessions: from the rows of a shop to the answer of the real Worker, which is the list that evaluation makes. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Catalog, decodeCatalog } from "../../shared/catalog.ts";
import { EvaluationReport } from "../../shared/evaluation-report.ts";
import type { ItemId } from "../../shared/ids.ts";
import { blobKey, replayKey, reportKey } from "../../shared/manifest.ts";
import { evaluate, listOf } from "../../trainer/choose/evaluate/evaluate.ts";
import { casesOfSessions } from "../../trainer/choose/evaluate/evaluation-cases.ts";
import { measureScenario } from "../../trainer/choose/scenarios/measure-scenario.ts";
import { decodeReplay } from "../../trainer/choose/scenarios/replay.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { storedJson } from "../../trainer/store/object-store.ts";
import { readManifest } from "../../trainer/store/versions.ts";
import { trainingData } from "../fixtures/checkerboard.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { storedHistory } from "../fixtures/stored-record.ts";
import { trainOnFiles } from "../fixtures/train-on-files.ts";

const NOW = Date.parse("2024-03-01T00:00:00Z");
const BEGIN = NOW / 1000 - 10 * 86_400;
const [USERS, VISITS, ITEMS, LIST] = [120, 4, 30, 20];
const { signal } = new AbortController();

/**
 * Each visit walks through one of five aisles of six items, from an item to the next one, and every third visit returns to the item before
 * the last. Visits of a user are of different aisles, so a stored history leads elsewhere than the session.
 */
const random = seededRandom(3, 1);
const visits = Array.from({ length: USERS * VISITS }, (_, visit) => {
  const [aisle, first] = [(3 * visit + Math.floor(visit / VISITS)) % 5, Math.floor(6 * random())];
  const items = [0, 1, 2, 3].map((step) => 6 * aisle + ((first + step) % 6));
  return { user: Math.floor(visit / VISITS), items: visit % 3 ? items : [...items, items[2]!] };
});

let edge: EdgeWorld;
let folder: string;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  folder = await mkdtemp(join(tmpdir(), "edge-sessions-"));
  const rows = visits.flatMap(({ user, items }, visit) =>
    items.map((item, i) => `u${user},i${item},${BEGIN + 900 * visit + i},1,${visit % VISITS}`),
  );
  await writeFile(join(folder, "interactions.csv"), ["user_id,item_id,at,label,visit", ...rows].join("\n"));
});
afterAll(async () => {
  await edge.stop();
  await rm(folder, { recursive: true, force: true });
});

describe.each([{ repeats: true }, { repeats: false }])("with %o", ({ repeats }) => {
  const model = { customer: "acme", modelName: repeats ? "again" : "once" };
  let version: string;
  let catalog: Catalog;
  const blob = async (digest: string) => (await edge.store.get(blobKey("acme", model.modelName, digest)))!.bytes;
  const manifestOf = async () => (await readManifest(edge.store, model, version))!;

  beforeAll(async () => {
    await setStatus(edge.store, model, { status: "SCHEDULING", nowMs: NOW });
    const { outcome, data } = await trainOnFiles({
      ...{ model, folder, location: "*.csv", store: edge.store, nowMs: NOW },
      schema: {
        user: { id: "user_id" },
        item: { id: "item_id" },
        interaction: {
          ...{ created_at: "at", label: { type: "Binary", name: "label" }, session_id: "visit", repeats },
          source: { query: "SELECT * FROM interactions" },
        },
      },
      settings: { fitSecondsMax: 10, ignoreGate: false },
    });
    if (outcome.kind !== "published") throw new Error(JSON.stringify(outcome));
    version = outcome.version;
    catalog = decodeCatalog(await blob((await manifestOf()).catalog.digest));
    expect(data).toMatchObject({ users: USERS, sessions: USERS * VISITS });
  }, 120_000);

  async function rank(body: object): Promise<string[]> {
    const answer = await edge.call(`/v0/models/${model.modelName}/rank`, { body: { limit: LIST, ...body } });
    expect(answer.status).toBe(200);
    return (await answer.json()) as string[];
  }
  const sent = (...items: number[]) => items.map((item) => ({ item_id: `i${item}` }));

  test("the choice held out sessions, and a personal model was better than popularity", async () => {
    const { bytes } = (await edge.store.get(reportKey("acme", model.modelName, version)))!;
    const { split, chosen, gate } = EvaluationReport.parse(storedJson(bytes));
    expect([split.kind, split.train.users, gate!.pass]).toEqual(["sessions", 0.9 * USERS * VISITS, true]);
    expect(chosen.method).not.toBe("popularity");
    expect(chosen.metrics["ndcg@10"]!.value).toBeGreaterThan(0.5);
  });

  test("the Worker answers a session with the list that evaluation makes", async () => {
    const { model: described, sessions } = await manifestOf();
    expect(sessions).toEqual({ repeats });
    const weights = described.weights.map(async ({ path, file }) => ({ path, bytes: await blob(file.digest) }));
    const exported = { graph: await blob(described.graph.digest), weights: await Promise.all(weights), truncation: "" };
    const indices = visits.slice(0, 12).map(({ items }) => items.map((item) => catalog.indexOf(`i${item}` as ItemId)!));
    const cases = casesOfSessions(trainingData(ITEMS, indices), { repeats });
    const served = { exported, historyMax: described.history_max };
    const evaluation = await evaluate(cases, served, { cutOffs: [LIST], signal });
    expect(cases.count).toBe(repeats ? 40 : 36);
    let shownAgain = 0;
    for (let at = 0; at < cases.count; at++) {
      const prefix = cases.caseAt(at).items.map((item) => ({ item_id: catalog.idAt(item) }));
      const list = await rank({ interactions: prefix });
      expect(list).toEqual(listOf(evaluation, at).map((item) => catalog.idAt(item)));
      if (prefix.some(({ item_id }) => list.includes(String(item_id)))) shownAgain++;
    }
    expect(shownAgain > 0).toBe(repeats);
  });

  test("a user's session is scored alone, and without what the user has seen", async () => {
    const known = await storedHistory(edge.store, model, version, "u7");
    const own = visits.filter(({ user }) => user === 7).flatMap(({ items }) => items);
    expect(known!.toSorted()).toEqual(own.map((item) => `i${item}`).toSorted());
    const session = sent(12, 13);
    const anonymous = await rank({ interactions: session });
    const seen = new Set(known);
    const all = await rank({ interactions: session, limit: ITEMS });
    expect(await rank({ user_id: "u7", interactions: session })).toEqual(
      all.filter((item) => !seen.has(item)).slice(0, LIST),
    );
    expect(await rank({ user_id: "u7", interactions: session, exclude_seen: false })).toEqual(anonymous);
  });

  test("without a session, a known user gets a list by the stored history", async () => {
    const answer = await edge.call(`/v0/models/${model.modelName}/rank?user_id=u7`);
    expect(answer.headers.get("x-rank-strategy")).toBe("personalized");
    const seen = new Set(await storedHistory(edge.store, model, version, "u7"));
    expect(((await answer.json()) as string[]).filter((item) => seen.has(item))).toEqual([]);
  });

  test("a scenario is measured on sessions", async () => {
    const { bytes } = (await edge.store.get(replayKey("acme", model.modelName, version)))!;
    const measurable = decodeReplay(bytes);
    expect(measurable.cases.sessions).toEqual({ repeats });
    const retrieval = { item_id: { $nin: visits[0]!.items.map((item) => `i${item}`) } };
    const { without, with: own } = await measureScenario(measurable, { limit: 10, retrieval }, { signal });
    expect(own["ndcg@10"]!.value).toBeLessThan(without["ndcg@10"]!.value!);
    expect(without["ndcg@10"]!.value).toBeGreaterThan(0.5);
  });
});
