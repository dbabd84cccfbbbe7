import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EvaluationReport } from "../../shared/evaluation-report.ts";
import { missingRealData, realDataFolder } from "../fixtures/real-data.ts";
import { endService, type StartedService, startService } from "../fixtures/started-service.ts";
import { putDatabase } from "../fixtures/trainer-state.ts";

const missing = missingRealData("ml-100k");
const TIMEOUT = 360_000;

describe.skipIf(missing)(`ml-100k through the whole service${missing ? ` (${missing})` : ""}`, () => {
  let state: string;
  let service: StartedService;
  let local: { edge_url: string; api_key: string };
  const folder = realDataFolder("ml-100k");

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), "start-real-"));
    await putDatabase(join(state, "trainer"));
    const data = ["--data", join(folder, "interactions.csv.gz"), "--items", join(folder, "items.csv")];
    const environment = { SHORTLIST_FIT_SECONDS: "60" }; // within 45 a busy machine found nothing better than popularity
    service = startService(["--state", state, "--model", "ml-100k", ...data], environment);
    await service.printed("Up until Ctrl-C");
    local = JSON.parse(await readFile(join(state, "local.json"), "utf8"));
  }, TIMEOUT);
  afterAll(async () => {
    service.process.kill("SIGINT");
    expect(await service.exited).toBe(0);
    await endService(service);
    await rm(state, { recursive: true, force: true });
  });
  const get = async (path: string) =>
    await fetch(`${local.edge_url}/v0/models/ml-100k${path}`, { headers: { "x-api-key": local.api_key } });

  test("guessed columns are printed", () => {
    const columns = "user user_id, item item_id, time created_at, label label (positive where it is 1 or true)";
    expect(service.output()).toContain(`The columns: ${columns}.`);
  });

  test("the model beats popularity with the lower bound of the margin above zero", async () => {
    const report = EvaluationReport.parse(await (await get("/evaluation")).json());
    const told = report.candidates.map(({ method, outcome, reason }) => `${method} ${outcome}: ${reason}`).join("\n");
    expect(report.chosen.method, told).not.toBe("popularity");
    const margin = report.lift["ndcg@10"]!;
    expect(margin.low).toBeGreaterThan(0);
    expect(report.chosen.metrics["ndcg@10"]!.value).toBeGreaterThan(report.popularity.metrics["ndcg@10"]!.value!);
  });

  test("no user is shown a film they have rated, whatever the rating", { timeout: TIMEOUT }, async () => {
    const rows = gunzipSync(await readFile(join(folder, "interactions.csv.gz")))
      .toString()
      .trimEnd()
      .split("\n")
      .slice(1);
    const seenBy = Map.groupBy(
      rows.map((row) => row.split(",")),
      (row) => row[0]!,
    );
    expect(seenBy.size).toBe(943);
    const wrong: string[] = [];
    const rest = seenBy.entries();
    const work = async () => {
      for (const [user, films] of rest) {
        const response = await get(`/rank?user_id=${user}&limit=500`);
        const ids = ((await response.json()) as number[]).map(String);
        const seen = new Set(films.map((row) => row[1]!));
        // One user liked nothing and has no history.
        const expected = films.some((row) => row[4] === "1") ? "personalized" : "popular";
        const strategy = response.headers.get("x-rank-strategy");
        if (ids.length === 0 || strategy !== expected) wrong.push(`${user}: ${ids.length} films, ${strategy}`);
        wrong.push(...ids.filter((id) => seen.has(id)).map((id) => `${user}: ${id}`));
      }
    };
    await Promise.all([work(), work(), work(), work()]);
    expect(wrong).toEqual([]);
  });

  test("films are filtered by a list, a number and a missing value", async () => {
    const rank = async (retrieval: object) => {
      const response = await fetch(`${local.edge_url}/v0/models/ml-100k/rank`, {
        method: "POST",
        headers: { "x-api-key": local.api_key, "content-type": "application/json" },
        body: JSON.stringify({ user_id: "1", limit: 500, retrieval }),
      });
      return ((await response.json()) as number[]).map(String);
    };
    const items = (await readFile(join(folder, "items.csv"), "utf8")).trimEnd().split("\n").slice(1);
    const genresOf = new Map(items.map((row) => [row.slice(0, row.indexOf(",")), row.slice(row.lastIndexOf(",") + 1)]));
    const noir = await rank({ genres: { $in: ["Film-Noir"] } });
    expect(noir.length).toBeGreaterThan(5);
    for (const id of noir) expect(genresOf.get(id)).toContain("Film-Noir");
    const old = await rank({ release_year: { $lt: 1940 }, genres: { $nin: ["Drama"] } });
    expect(old.length).toBeGreaterThan(0);
    for (const id of old) expect(genresOf.get(id)).not.toContain("Drama");
    expect((await rank({ release_year: { $exists: false } })).length).toBeLessThan(3);
  });
});
