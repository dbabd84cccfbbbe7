import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { s3Store } from "../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../fixtures/local-r2.ts";
import { caller, environmentOf, SECRET } from "../fixtures/trainer-client.ts";
import { startHarness } from "../fixtures/trainer-harness.ts";
import { specOf } from "../fixtures/trainer-spec.ts";
import { freshState } from "../fixtures/trainer-state.ts";

/** Starts what `npm run train` starts. */
function start(environment: Readonly<Record<string, string | undefined>>, ...args: readonly string[]) {
  const child = spawn(process.execPath, ["--liftoff-only", "trainer/main.ts", ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  const exited = once(child, "close") as Promise<[number | null]>;
  const portIs = async () => {
    for (;;) {
      const started = output.out.split("\n").find((line) => line.includes('"event":"started"'));
      if (started) return (JSON.parse(started) as { port: number }).port;
      if (child.exitCode !== null) throw new Error(output.err);
      await new Promise((done) => setTimeout(done, 30));
    }
  };
  return { child, output, exited, portIs };
}

test("wrong settings give one sentence and exit code 2", async () => {
  const { exited, output } = start({ SHORTLIST_TRAINER_PORT: "planted" }, "--once");
  expect((await exited)[0]).toBe(2);
  expect(output.err).toMatch(/^The settings are not right: .*FORWARD_SECRET is not set.*\n$/);
  expect(output.err).not.toContain("planted");
});

test.each([
  [["--model", "shop"], "--customer and --model need --once"],
  [["--once", "--model", "a/b"], "--model must match"],
])("the arguments %j are refused with exit code 2", async (args, reason) => {
  const { exited, output } = start({}, ...args);
  expect((await exited)[0]).toBe(2);
  expect(output.err).toMatch(/^--[^\n]*\n$/);
  expect(output.err).toContain(reason);
});

test("--once requeues on SIGTERM, names the model whose run failed in exit code 1, and ends with 0 when nothing waits", async () => {
  const stateDirectory = await freshState();
  const bucket = await startLocalR2();
  const trainer = await startHarness({ stateDirectory, store: s3Store(bucket.s3) });
  await trainer.create("shop", "wait"); // is no SELECT for the real run
  await expect.poll(() => trainer.logs.some(({ event }) => event === "run_started")).toBe(true);
  await trainer.stop();

  const { endpoint, accessKeyId, secretAccessKey } = bucket.s3;
  const s3 = {
    SHORTLIST_S3_ENDPOINT: endpoint,
    SHORTLIST_S3_BUCKET: bucket.s3.bucket,
    SHORTLIST_S3_ACCESS_KEY_ID: accessKeyId,
    SHORTLIST_S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
  const stopped = start({ ...environmentOf(stateDirectory), ...s3 }, "--once");
  await expect.poll(() => stopped.output.out).toContain('"event":"run_started"');
  stopped.child.kill("SIGTERM");
  expect((await stopped.exited)[0]).toBe(1);
  expect(stopped.output.err).toBe("Stopped: unfinished runs wait for the next start.\n");
  const sent: Record<string, string> = {};
  const collector = createServer(async (request, answer) => {
    sent[request.url!] = await text(request);
    answer.writeHead(200, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const environment = { ...environmentOf(stateDirectory), ...s3, OTEL_EXPORTER_OTLP_ENDPOINT };
  const first = start(environment, "--once", "--customer", "acme");
  expect((await first.exited)[0]).toBe(1);
  collector.close();
  const runId = /"run_id":"([^"]+)"/.exec(first.output.out)![1]!;
  expect(sent["/v1/traces"]).toContain(runId.replaceAll("-", "")); // sent before the job ends
  expect(sent["/v1/metrics"]).toContain("shortlist_database_up");
  expect(first.output.err).toBe("The training of acme/shop failed.\n");
  const second = start({ ...environmentOf(stateDirectory), ...s3 }, "--once");
  expect((await second.exited)[0]).toBe(0);
  expect(second.output.err).toBe("");
  await bucket.stop();
});

test("the trainer starts, answers, refuses a second one in its folder, stops on SIGTERM and starts again", async () => {
  const state = await freshState();
  const first = start(environmentOf(state));
  const port = await first.portIs();
  const spec = specOf("shop", "select 1", { connector_configs: [{ type: "File", location: "none/*.csv" }] });
  expect((await caller(port)("POST", "/v0/models", { body: spec })).status).toBe(201);

  const second = start(environmentOf(state), "--once");
  expect((await second.exited)[0]).toBe(2);
  expect(second.output.err).toMatch(/^Another trainer \(process \d+\) works in .*\n$/);

  first.child.kill("SIGTERM");
  expect((await first.exited)[0]).toBe(0);
  const third = start(environmentOf(state));
  const record = await caller(await third.portIs())("GET", "/v0/models/shop");
  expect(record).toMatchObject({ status: 200, body: { model_name: "shop" } });
  third.child.kill("SIGINT");
  expect((await third.exited)[0]).toBe(0);
  for (const { output } of [first, second, third]) {
    expect(output.out + output.err).not.toContain(SECRET);
    expect(output.out + output.err).not.toContain("planted-s3-secret");
  }
});
