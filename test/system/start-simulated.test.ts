/** `npm start -- --simulate`: two versions, two scenarios, and shoppers who take part in an experiment between them. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ExperimentReport } from "../../shared/experiment/report.ts";
import { writeDemoShop } from "../../trainer/local/demo-shop.ts";
import { endService, type StartedService, startService } from "../fixtures/started-service.ts";
import { putDatabase } from "../fixtures/trainer-state.ts";

let state: string;
let service: StartedService;
beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "start-simulated-"));
  await putDatabase(join(state, "trainer"));
  await writeDemoShop(join(state, "data/demo-shop"), { users: 1000, items: 300 }); // small, so that both trainings are quick
  service = startService(["--simulate", "--state", state], { SHORTLIST_FIT_SECONDS: "1", SHORTLIST_IGNORE_GATE: "1" });
});
afterAll(async () => {
  await endService(service);
  await rm(state, { recursive: true, force: true });
});

test("shoppers see both arms of an experiment, and Ctrl-C ends them", { timeout: 360_000 }, async () => {
  await service.printed("Compare its two versions, or the scenarios varied and bestsellers");
  const { edge_url, api_key } = JSON.parse(await readFile(join(state, "local.json"), "utf8"));
  const call = async (method: string, path: string, body?: object) => {
    const headers = { "x-api-key": api_key, "content-type": "application/json" };
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${edge_url}/v0/models/demo-shop${path}`, sent);
    expect(answer.status).toBe(200);
    return answer.json();
  };
  const { versions } = (await call("GET", "/versions")) as { versions: { version: string }[] };
  expect(versions).toHaveLength(2);
  const { data } = (await call("GET", "")) as { data: { interactions: number } };
  expect(data.interactions).toBeGreaterThan(15_000); // the live version knows more than the first week
  await call("PUT", "/experiment", {
    name: "simulated",
    goal: { type: "purchase" },
    arms: [
      { name: "older", share: 0.5, version: versions[1]!.version },
      { name: "varied", share: 0.5, scenario: "varied" },
    ],
  });
  const counts = async () => ((await call("GET", "/experiment")) as ExperimentReport).arms;
  await expect
    .poll(async () => Math.min(...(await counts()).map(({ exposed }) => exposed)), { timeout: 60_000 })
    .toBeGreaterThan(5);
  await expect
    .poll(async () => Math.max(...(await counts()).map(({ reached }) => reached)), { timeout: 60_000 })
    .toBeGreaterThan(0);
  service.process.kill("SIGINT");
  expect(await service.exited).toBe(0);
});
