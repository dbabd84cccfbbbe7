import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { superviseProcess } from "../../../../trainer/manage/processes/supervised-process.ts";
import type { DryRunAnswer, DryRunJob } from "../../../../trainer/manage/questions/dry-runs.ts";
import { readSettings } from "../../../../trainer/settings.ts";
import { environmentOf } from "../../../fixtures/trainer-client.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

/** The program's answer to a spec, with the bucket at an address. */
async function answerOf(spec: DryRunJob["spec"], bucketUrl: string): Promise<DryRunAnswer | undefined> {
  const folder = await freshFolder();
  const settings = readSettings({ ...environmentOf(folder), SHORTLIST_S3_ENDPOINT: bucketUrl });
  const { secret: _, ...connectorSettings } = settings.connectorsOf("acme", folder);
  let answer: DryRunAnswer | undefined;
  await superviseProcess({
    program: new URL("../../../../trainer/manage/dry-run/dry-run-child.ts", import.meta.url).pathname,
    input: {
      customer: "acme",
      spec,
      connectorSettings,
      rejectedFractionMax: 0.5,
      fitSecondsMax: 1,
    } satisfies DryRunJob,
    environment: settings.childEnvironment("acme"),
    memoryMbMax: 1500,
    disk: { folders: [], bytesMax: 1 },
    secondsMax: 30,
    graceSeconds: 1,
    signal: new AbortController().signal,
    onMessage: (value) => {
      answer = value as DryRunAnswer;
      return "last";
    },
  });
  return answer;
}

test("a failing bucket is reported as such, not as an unreadable source", async () => {
  const bucket = createServer((_, response) => response.writeHead(403).end()).listen(0, "127.0.0.1");
  await new Promise((done) => bucket.once("listening", done));
  try {
    // The account that reads a customer's BigQuery may be in the customer's record in the bucket.
    const spec = specOf("shop", "SELECT 1", { connector_configs: [{ type: "BigQuery", project_id: "acme-shop" }] });
    const answer = await answerOf(spec, `http://127.0.0.1:${(bucket.address() as AddressInfo).port}`);
    expect(answer).toEqual({ kind: "unavailable", message: expect.stringContaining("403") });
  } finally {
    bucket.close();
  }
});
