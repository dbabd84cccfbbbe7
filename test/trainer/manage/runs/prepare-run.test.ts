import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { prepareRun } from "../../../../trainer/manage/runs/prepare-run.ts";
import { readSettings } from "../../../../trainer/settings.ts";
import { environmentOf } from "../../../fixtures/trainer-client.ts";
import { aModel } from "../../../fixtures/trainer-model.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

test("a run gets its folders, its customer's settings, and survives the way to its process", async () => {
  const state = await freshFolder();
  const settings = readSettings({
    ...environmentOf(state),
    SHORTLIST_FILE_ROOTS: '{"acme": ["/data/acme"]}',
    SHORTLIST_OVERLAP_HOURS: "1",
    SHORTLIST_SECRET_ACME__PASSWORD: "planted-in-environment",
  });
  const spec = specOf("shop", "wait", { connector_configs: [{ type: "Postgres", password: "planted-in-spec" }] });
  const prepared = await prepareRun(aModel({ spec }), "run-1", { settings, folders: modelFolders(state) });
  const { job } = prepared;
  expect(JSON.parse(JSON.stringify(job))).toEqual(job);
  expect(job).toMatchObject({
    runId: "run-1",
    customer: "acme",
    spec,
    settings: {
      workDirectory: join(state, "runs", "run-1"),
      modelDirectory: join(state, "models", "acme", "shop"),
      incremental: { overlapSeconds: 3600, fullReadSeconds: 7 * 86_400 },
    },
    connectorSettings: { fileRoots: ["/data/acme"], tempDirectory: join(state, "runs", "run-1", "temp") },
  });
  expect([job.settings.modelDirectory, job.connectorSettings.tempDirectory].map(existsSync)).toEqual([true, true]);
  expect(prepared.secrets).toEqual(
    expect.arrayContaining(["planted-in-spec", "planted-in-environment", "planted-s3-secret"]),
  );
  expect(JSON.stringify(job)).not.toContain("planted-in-environment");
  expect(prepared.environment).not.toHaveProperty("FORWARD_SECRET");
});
