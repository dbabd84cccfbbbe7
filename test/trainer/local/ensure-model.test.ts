import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { ensureModel } from "../../../trainer/local/ensure-model.ts";
import type { LocalSource } from "../../../trainer/local/local-source.ts";
import { plainTerminal } from "../../../trainer/terminal.ts";

const TRAINED_AT = "2026-01-01T00:00:00Z";
const record = (status: string, state: string, more: object = {}) => ({
  ...{ model_name: "films", model_url: "http://edge", status, created_at: "", updated_at: "", trained_at: TRAINED_AT },
  ...{
    label: { type: "Binary", name: "l" },
    connectors: [],
    train_schedule: "@once",
    version: null,
    item_id_type: null,
  },
  input_schema: {
    user: { id: "u" },
    item: { id: "i" },
    interaction: { created_at: "t", label: { type: "Binary", name: "l" }, source: { query: "SELECT 1" } },
  },
  training: { state, run_id: "r", started_at: null, finished_at: null, next_run_at: null, progress: null },
  ...{ data: null, metrics: null, scenario_problems: null, failure: null, last_canary: null, earnings: null },
  ...more,
});
const failure = { stage: "fetching", code: "x", message: "The file is empty", at: "2026-01-01", retryable: false };
const idle = record("ACTIVE", "IDLE");

/** Runs against a service that answers view requests in this order, the last one for ever. */
async function against(views: (object | 404)[], { patched = idle, changedMs = 0 } = {}) {
  const calls: string[] = [];
  const bodies: string[] = [];
  let view = 0;
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    const next = views[Math.min(view, views.length - 1)]!;
    if (request.method === "GET") view++;
    else calls.push(`${request.method} ${request.url}`);
    request.on("data", (bytes) => bodies.push(String(bytes)));
    if (request.method === "GET") next === 404 ? answer(404, {}) : answer(200, next);
    else if (request.method === "PATCH") answer(200, patched);
    else answer(request.url!.endsWith("/train") ? 202 : 201, record("SCHEDULING", "SCHEDULED"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { signal } = new AbortController();
  const service = { edgeUrl: `http://127.0.0.1:${port}`, apiKey: "rk_key", signal };
  const source = {
    body: { model_name: "films", connector_configs: [], schema: { user: { id: "u" }, item: { id: "i" } } },
    changedMs,
  } as unknown as LocalSource;
  const lines: string[] = [];
  const terminal = plainTerminal((line) => void lines.push(line));
  const result = await ensureModel(service, source, terminal, 1).catch((error: Error) => error);
  server.closeAllConnections();
  server.close();
  return { result, calls, bodies, lines };
}

test("a missing model is created and followed until it is trained", async () => {
  const { result, calls, lines } = await against([404, record("FETCHING", "FETCHING"), idle]);
  expect(result).toMatchObject({ status: "ACTIVE" });
  expect(calls).toEqual(["POST /v0/models"]);
  expect(lines[0]).toBe('Creating the model "films".');
});

test("a model on unchanged files is not trained again", async () => {
  const { result, calls, lines } = await against([idle]);
  expect(result).toMatchObject({ status: "ACTIVE" });
  expect(calls).toEqual(["PATCH /v0/models/films"]);
  expect(lines).toEqual([`The model "films" exists, trained ${TRAINED_AT}.`]);
});

test("what the files no longer have is removed from the model", async () => {
  const source = { connector_id: "items", query: "SELECT 1" };
  const { input_schema } = idle;
  const { bodies } = await against([{ ...idle, input_schema: { ...input_schema, item: { id: "i", source } } }]);
  expect(JSON.parse(bodies[0]!).schema).toMatchObject({ item: { source: null } });
});

test("files that changed after the training start a new one", async () => {
  const { calls } = await against([idle], { changedMs: Date.parse(TRAINED_AT) + 1 });
  expect(calls).toEqual(["PATCH /v0/models/films", "POST /v0/models/films/train"]);
});

test("other files or columns start a training by the PATCH alone, and a running training is followed", async () => {
  const patched = record("ACTIVE", "TRAINING");
  const { result, calls } = await against([idle, patched, idle], { patched, changedMs: Date.now() });
  expect([result, calls]).toEqual([idle, ["PATCH /v0/models/films"]]);
});

test("a failed model is trained again", async () => {
  const patched = record("ERROR", "FAILED", { failure, trained_at: null });
  const { calls, lines } = await against([patched, idle], { patched });
  expect(calls).toEqual(["PATCH /v0/models/films", "POST /v0/models/films/train"]);
  expect(lines[0]).toBe('The model "films" exists, not yet trained.');
});

test("a failed training is reported with its message and whether the old version is still live", async () => {
  const message = "The training failed while fetching: The file is empty.";
  const first = await against([404, record("ERROR", "FAILED", { failure })]);
  expect((first.result as Error).message).toBe(message);
  const again = await against([idle, record("ACTIVE", "FAILED", { failure })], { changedMs: Date.now() });
  expect((again.result as Error).message).toBe(`${message} The previous version stays live.`);
});
