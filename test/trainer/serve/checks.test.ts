/** Each thing that can be wrong with a service, really broken, and what the doctor says about it. */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { PRODUCT_VERSION } from "../../../shared/product.ts";
import { type Check, runChecks } from "../../../trainer/manage/health/checks.ts";
import { checkModels, checkPort, checkSecrets, checkVersions } from "../../../trainer/serve/checks.ts";
import { answeringServer } from "../../fixtures/answering-server.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const found = async (check: Check) => (await runChecks([check]))[0]!;
const isOk = async (check: Check) => expect(await found(check)).toMatchObject({ state: "ok" });
async function serverOf(answers: Parameters<typeof answeringServer>[0]): Promise<string> {
  const { url, close } = await answeringServer(answers);
  closing.push(close);
  return url;
}

test("settings that others can read", async () => {
  const folder = await freshFolder();
  const path = join(folder, "settings.json");
  await writeFile(path, "{}", { mode: 0o600 });
  await isOk(checkSecrets(path));
  await chmod(path, 0o644);
  expect(await found(checkSecrets(path))).toMatchObject({ state: "fault", remedy: `chmod 600 ${path}` });
});
test("a port that another program uses", async () => {
  const port = Number(new URL(await serverOf({})).port);
  expect(await found(checkPort(port, false))).toMatchObject({
    state: "fault",
    finding: expect.stringContaining("EADDRINUSE"),
  });
  await isOk(checkPort(port, true));
});
test("edge and trainer of different releases", async () => {
  const at = (version?: string) => serverOf({ "/health/live": [200, { status: "live", version }] });
  const of = async (edge: string, trainer: string) => found(checkVersions({ edge, trainer }));
  const here = await at(PRODUCT_VERSION);
  expect(await of(here, here)).toMatchObject({ state: "ok", finding: expect.stringContaining(PRODUCT_VERSION) });
  expect(await of(await at("0.0.9"), here)).toMatchObject({
    state: "warning",
    finding: `edge 0.0.9, trainer ${PRODUCT_VERSION}; here ${PRODUCT_VERSION}`,
    remedy: expect.stringContaining("Bring edge to"),
  });
  expect(await of(here, await at())).toMatchObject({ finding: expect.stringContaining("trainer an older release") });
  expect(await of(here, "http://127.0.0.1:9")).toMatchObject({ state: "ok" }); // checkHealth says that it is away
});
test("package.json has the same version", async () =>
  expect(JSON.parse(await readFile("package.json", "utf8")).version).toBe(PRODUCT_VERSION));
test("a key that is not valid any more, a model that fails, and one that is stale", async () => {
  const refusing = await serverOf({ "/v0/models": [401, {}] });
  const of = (edgeUrl: string) => found(checkModels({ edgeUrl, apiKey: "rk", keyPlace: "local.json" }, Date.now));
  expect(await of(refusing)).toMatchObject({ state: "fault", remedy: expect.stringContaining("local.json") });
  const at = new Date().toISOString();
  const record = {
    ...{ model_name: "shop", model_url: "", status: "ACTIVE", created_at: at, updated_at: at, trained_at: at },
    label: { type: "Binary", name: "label" },
    input_schema: {
      user: { id: "u" },
      item: { id: "i" },
      interaction: { created_at: "t", label: { type: "Binary", name: "label" }, source: { query: "SELECT 1" } },
    },
    ...{ connectors: [], train_schedule: "@daily", version: "v1", item_id_type: "string", data: null, metrics: null },
    training: { state: "IDLE", run_id: null, started_at: at, finished_at: at, next_run_at: at, progress: null },
    ...{ scenario_problems: null, failure: null },
  };
  const models = async (changes: object) =>
    of(await serverOf({ "/v0/models": [200, { models: [{ ...record, ...changes }] }] }));
  expect(await models({})).toMatchObject({ state: "ok" });
  expect(await models({ trained_at: "2020-01-01T00:00:00.000Z" })).toMatchObject({
    ...{ state: "warning", finding: expect.stringContaining("shop") },
  });
  const failure = {
    stage: "fetching",
    code: "access_denied",
    message: "The password has expired.",
    at,
    retryable: false,
  };
  expect(await models({ failure })).toMatchObject({
    ...{ state: "fault", finding: expect.stringContaining("The password has expired.") },
  });
});
