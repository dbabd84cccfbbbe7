import { expect, test } from "vitest";
import type { CreationBody } from "../../../trainer/local/creation-body.ts";
import { ensureModel } from "../../../trainer/local/ensure-model.ts";
import type { ServiceAnswer, ServiceClient } from "../../../trainer/local/service-client.ts";

const body = { model_name: "films" } as unknown as CreationBody;
const record = (status: string, state: string, more: object = {}) => ({
  status,
  version: null,
  trained_at: "2026-01-01T00:00:00Z",
  training: { state, run_id: "r1", progress: null },
  data: null,
  metrics: null,
  failure: null,
  ...more,
});
const failure = {
  stage: "fetching",
  code: "x",
  message: "The file is empty.",
  at: "2026-01-01T00:00:00Z",
  retryable: false,
};
const idle = record("ACTIVE", "IDLE");
const run = (id: string, state: string) => record("ACTIVE", state, { training: { state, run_id: id, progress: null } });

/** Runs against a service that answers view requests in this order, the last one for ever. */
async function against(views: (object | 404)[], known?: string, patched: object = idle) {
  const calls: string[] = [];
  const lines: string[] = [];
  let requested = 0;
  let view = 0;
  const client: ServiceClient = {
    edgeUrl: "http://edge",
    apiKey: "rk_key",
    async call(method, path): Promise<ServiceAnswer> {
      const answer = (status: number, body: unknown) => ({ status, body, headers: new Headers() });
      if (method === "GET") {
        const next = views[Math.min(view++, views.length - 1)]!;
        return next === 404 ? answer(404, {}) : answer(200, next);
      }
      calls.push(`${method} ${path}`);
      if (method === "PATCH") return answer(200, patched);
      return path.endsWith("/train")
        ? answer(202, run("r2", "SCHEDULED"))
        : answer(201, record("SCHEDULING", "SCHEDULED"));
    },
  };
  const result = ensureModel(client, body, {
    knownFingerprint: known,
    fingerprint: "asked.files",
    onProgress: () => {},
    print: (line) => lines.push(line),
    pause: async () => {},
    onRequested: async () => void requested++,
  });
  return { result: await result.catch((error: Error) => error), calls, lines, requested };
}

test("a missing model is created and followed until it is trained", async () => {
  const { result, calls, requested } = await against([
    404,
    record("FETCHING", "FETCHING"),
    record("TRAINING", "TRAINING"),
    idle,
  ]);
  expect(result).toMatchObject({ status: "ACTIVE" });
  expect(calls).toEqual(["POST /v0/models"]);
  expect(requested).toBe(1);
});

test("a model on unchanged files is not retrained", async () => {
  const { result, calls, lines } = await against([idle], "asked.files");
  expect(result).toMatchObject({ status: "ACTIVE" });
  expect(calls).toEqual([]);
  expect(lines).toEqual(['The model "films" exists, trained 2026-01-01T00:00:00Z.']);
});

test("a model created by an interrupted start is adopted", async () => {
  const { calls, requested } = await against([idle], undefined);
  expect([calls, requested]).toEqual([[], 1]);
});

test("changed files start a new training", async () => {
  const after = [run("r1", "IDLE"), run("r2", "SCHEDULED"), run("r2", "TRAINING"), run("r2", "IDLE")];
  const { result, calls, lines } = await against(after, "asked.older");
  expect(calls).toEqual(["PATCH /v0/models/films", "POST /v0/models/films/train"]);
  expect(lines[0]).toContain("have changed");
  expect(result).toMatchObject({ training: { run_id: "r2" } });
});

test("moved files are trained on at their new place", async () => {
  const { calls } = await against([idle, run("r2", "IDLE")], "asked.older", run("r2", "SCHEDULED"));
  expect(calls).toEqual(["PATCH /v0/models/films"]); // which alone begins a run
});

test("a running training is followed", async () => {
  const { result, calls } = await against([record("TRAINING", "TRAINING"), idle], "asked.files");
  expect([(result as { status: string }).status, calls]).toEqual(["ACTIVE", []]);
});

test("a failed model is trained again", async () => {
  const { calls } = await against([record("ERROR", "FAILED", { failure }), run("r2", "IDLE")], "asked.files");
  expect(calls).toEqual(["PATCH /v0/models/films", "POST /v0/models/films/train"]);
});

test("a name used for other files is refused with both remedies", async () => {
  const { result } = await against([idle], "other.files");
  expect((result as Error).message).toMatch(/--model NAME.*curl -X DELETE http:\/\/edge\/v0\/models\/films/);
});

test("a failed training is reported with its message and whether the old version is still live", async () => {
  const first = await against([404, record("ERROR", "FAILED", { failure })]);
  expect((first.result as Error).message).toBe("The training failed while fetching: The file is empty.");
  const again = await against(
    [
      run("r1", "IDLE"),
      record("ACTIVE", "FAILED", {
        failure: { ...failure, message: "The query gives no rows" },
        training: { state: "FAILED", run_id: "r2", progress: null },
      }),
    ],
    "asked.older",
  );
  expect((again.result as Error).message).toBe(
    "The training failed while fetching: The query gives no rows. The previous version stays live.",
  );
});

test("a running deletion is waited for", async () => {
  const { calls } = await against([record("DESTROYING", "IDLE"), record("DESTROYING", "IDLE"), 404, idle], undefined);
  expect(calls).toEqual(["POST /v0/models"]);
});
