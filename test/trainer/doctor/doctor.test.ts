import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ageChecks } from "../../../trainer/doctor/age-checks.ts";
import { runChecks } from "../../../trainer/doctor/check.ts";
import { machineChecks, memoryOutcome, nodeOutcome } from "../../../trainer/doctor/machine-checks.ts";
import { serviceChecks } from "../../../trainer/doctor/service-checks.ts";
import { type Subject, serviceIn, trainerOf } from "../../../trainer/doctor/subject.ts";
import { freePort } from "../../../trainer/local/free-port.ts";
import { placesIn, ServeSettings, writeServeSettings } from "../../../trainer/serve/serve-settings.ts";
import { issueKey } from "../../../trainer/store/key-store.ts";
import { openObjectServer } from "../../../trainer/store/object-server.ts";

const SECRET = "a".repeat(32);
const DAY_MS = 86_400_000;
let dir: string;
let port: number;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "doctor-"));
  port = await freePort();
  await writeSettings({});
  await mkdir(placesIn(dir).objects);
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await rm(dir, { recursive: true, force: true });
});

const writeSettings = (more: object) =>
  writeServeSettings(
    dir,
    ServeSettings.parse({ format: 1, port, forward_secret: SECRET, internal_secret: SECRET, ...more }),
  );

async function listen(answer: RequestListener, at = 0): Promise<string> {
  const server: Server = createServer(answer).listen(at, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An edge that answers each path with a status and a body; other paths with 404. */
const edgeWith =
  (answers: Record<string, [number, unknown]>): RequestListener =>
  (request, response) => {
    const [status, body] = answers[request.url!.split("?")[0]!] ?? [404, {}];
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  };

async function finding(name: string, subject?: Subject, nowMs = Date.now()) {
  const given = subject ?? (await serviceIn(dir));
  const checks = [...machineChecks(given), ...serviceChecks(given), ...ageChecks(given, nowMs)];
  const [found] = await runChecks(checks.filter((check) => check.name === name));
  return found!;
}

const expectFound = async (
  name: string,
  state: string,
  text: RegExp,
  remedy: RegExp,
  subject?: Subject,
  nowMs?: number,
) => {
  const found = await finding(name, subject, nowMs);
  expect(found).toMatchObject({ name, state });
  expect(found.finding).toMatch(text);
  expect(found.remedy).toMatch(remedy);
};

test("an old Node and little memory are found", async () => {
  expect(nodeOutcome("22.17.1")).toMatchObject({ state: "fault", remedy: expect.stringContaining("22.18") });
  expect(nodeOutcome("24.0.0").state).toBe("ok");
  const subject = await serviceIn(dir);
  expect(memoryOutcome(800, subject)).toMatchObject({ state: "fault", remedy: expect.stringContaining("Add memory") });
  expect(memoryOutcome(2000, subject).state).toBe("warning");
  expect(memoryOutcome(8000, subject).state).toBe("ok");
});

test("a disk with less than the reserve is a fault", async () => {
  await writeSettings({ environment: { SHORTLIST_DISK_RESERVE_BYTES: 1e15 } });
  await expectFound("disk", "fault", /MB free/, /Free space/);
  await writeSettings({ environment: { SHORTLIST_DISK_RESERVE_BYTES: 1000 } });
  expect((await finding("disk")).state).toBe("ok");
});

test("missing folders are found", async () => {
  const subject = await serviceIn(dir);
  await expectFound("state folder", "fault", /ENOENT/, /Create it/, { ...subject, stateFolder: join(dir, "gone") });
  await writeSettings({ data_roots: [join(dir, "gone")] });
  await expectFound("data folders", "fault", /gone cannot be read \(ENOENT\)/, /settings\.json/);
  await rm(placesIn(dir).objects, { recursive: true });
  await expectFound("bucket", "warning", /does not exist yet/, /npm run serve/);
});

test("secrets that others may read are a fault", async () => {
  expect((await finding("secrets")).state).toBe("ok");
  await chmod(placesIn(dir).settings, 0o644);
  await expectFound("secrets", "fault", /Other users/, /chmod 600/);
});

test("a port that another program has is a fault", async () => {
  expect(await finding("port")).toMatchObject({ state: "ok", finding: expect.stringContaining("free") });
  await listen(edgeWith({}), port);
  await expectFound("port", "fault", /EADDRINUSE/, /change port in .*settings\.json/);
  await expectFound("edge", "fault", /Something else answers/, /address/);
});

const s3Settings = (endpoint: string, bucket = "b-models", access_key_id = "id") => ({
  objects: { kind: "s3", endpoint, bucket, access_key_id, secret_access_key: "secret" },
});

test("a bucket with another name, a wrong key or no answer is a fault", async () => {
  const server = await openObjectServer({ folder: join(dir, "s3"), bucket: "b-models", accessKeyId: "id" });
  await writeSettings(s3Settings(server.endpoint));
  expect(await finding("bucket")).toMatchObject({ state: "ok" });
  await writeSettings(s3Settings(server.endpoint, "b-other"));
  await expectFound("bucket", "fault", /404/, /endpoint, bucket/);
  await writeSettings(s3Settings(server.endpoint, "b-models", "other"));
  await expectFound("bucket", "fault", /403/, /endpoint, bucket/);
  await server.close();
  await expectFound("bucket", "fault", /./, /endpoint, bucket/);
  await expectFound("backup", "warning", /bucket cannot be read/, /bucket/);
});

test("a bucket that ignores conditions is a fault", async () => {
  const list = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
  const endpoint = await listen((_, response) => response.writeHead(200, { etag: '"1"' }).end(list));
  await writeSettings(s3Settings(endpoint));
  await expectFound("bucket", "fault", /ignores the condition/, /conditional writes/);
});

test.each([
  [0, "ok", /right/, /^$/],
  [20, "warning", /19|2[01] s behind/, /timedatectl/],
  [-300, "fault", /(299|30[01]) s ahead/, /timedatectl/],
])("a clock of the bucket that is %i s ahead is %s", async (seconds, state, text, remedy) => {
  const endpoint = await listen((_, response) => {
    response
      .setHeader("date", new Date(Date.now() + seconds * 1000).toUTCString())
      .writeHead(403)
      .end();
  });
  await writeSettings(s3Settings(endpoint));
  await expectFound("clock", state, text, remedy);
});

test("edge and trainer that are down, or that do not reach each other, are faults", async () => {
  await expectFound("edge", "fault", /ECONNREFUSED/, /npm run serve/);
  await expectFound("trainer", "fault", /never started/, /npm run serve/);
  await expectFound("edge to trainer", "warning", /no API key/, /local\.json/);
  const subject = { ...(await serviceIn(dir)), apiKey: "key" };
  const edge = await listen(edgeWith({ "/health/ready": [503, {}], "/v0/models": [503, {}] }));
  await expectFound("edge", "fault", /cannot read its bucket/, /MODELS/, { ...subject, edgeUrl: edge });
  await expectFound("edge to trainer", "fault", /\(503\)/, /FORWARD_SECRET/, { ...subject, edgeUrl: edge });
  await expectFound("trainer", "fault", /database/, /DATABASE_URL/, { ...subject, trainerUrl: edge });
  const refusing = await listen(edgeWith({ "/v0/models": [401, {}], "/health/ready": [200, {}] }));
  await expectFound("edge to trainer", "fault", /refuses the API key/, /issue/, { ...subject, edgeUrl: refusing });
  const outside = { ...subject, edgeUrl: refusing, publicUrl: `http://127.0.0.1:${port}` };
  await expectFound("edge", "fault", /public address/, /proxy and DNS/, outside);
});

test("an egress address that is not set, or another one, is found", async () => {
  const edgeUrl = await listen(edgeWith({ "/cdn-cgi/trace": [200, "fl=1\nip=192.0.2.7\nts=1\n"] }));
  const variables = {
    FORWARD_SECRET: SECRET,
    SHORTLIST_S3_ENDPOINT: edgeUrl,
    SHORTLIST_S3_BUCKET: "b-models",
    SHORTLIST_S3_ACCESS_KEY_ID: "id",
    SHORTLIST_S3_SECRET_ACCESS_KEY: "secret",
    SHORTLIST_EDGE_URL: edgeUrl,
  };
  const with_ = (addresses: string) => trainerOf({ ...variables, SHORTLIST_EGRESS_ADDRESSES: addresses });
  await expectFound("egress address", "warning", /No egress/, /to 192\.0\.2\.7/, with_(""));
  await expectFound("egress address", "warning", /leave from 192\.0\.2\.7/, /192\.0\.2\.7/, with_("192.0.2.9"));
  await expectFound("egress address", "ok", /192\.0\.2\.7/, /^$/, with_("192.0.2.9 192.0.2.7"));
  const temporary = trainerOf({ ...variables, SHORTLIST_S3_SESSION_TOKEN: "token" });
  await expectFound("bucket credentials", "warning", /temporary/, /permanent/, temporary);
});

test("a failed and an overdue model are found", async () => {
  const model = (more: object) => ({
    model_name: "shop",
    failure: null,
    training: { state: "IDLE", next_run_at: null },
    ...more,
  });
  const subjectWith = async (more: object) => ({
    ...(await serviceIn(dir)),
    apiKey: "key",
    edgeUrl: await listen(edgeWith({ "/v0/models": [200, { models: [model(more)] }] })),
  });
  expect((await finding("models", await subjectWith({}))).state).toBe("ok");
  const failure = { code: "source_refused", message: "The password has expired." };
  await expectFound("models", "fault", /shop failed .*expired/, /credentials/, await subjectWith({ failure }));
  const training = { state: "IDLE", next_run_at: new Date(Date.now() - DAY_MS).toISOString() };
  await expectFound("models", "warning", /should have been trained/, /queue/, await subjectWith({ training }));
});

test("an old backup and an absent one are found", async () => {
  await expectFound("backup", "warning", /no backup/, /npm run backup/);
  await mkdir(join(placesIn(dir).objects, "backups"));
  const file = join(placesIn(dir).objects, "backups/2026-11-01T00-00-00Z.json.gz");
  await writeFile(file, "backup");
  expect((await finding("backup")).state).toBe("ok");
  await utimes(file, new Date(), new Date(Date.now() - 5 * DAY_MS));
  await expectFound("backup", "fault", /120 hours old/, /trainer/);
  await writeSettings({ environment: { SHORTLIST_BACKUP_HOURS: 0 } });
  await expectFound("backup", "warning", /off/, /SHORTLIST_BACKUP_HOURS/);
});

test("a key that expires soon is found", async () => {
  const { store } = await serviceIn(dir);
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const nowMs = Date.now();
  await issueKey(store, { customer: "main", scopes: ["rank"], expiresAtMs: nowMs + 20 * DAY_MS, nowMs, random });
  expect((await finding("api keys")).state).toBe("ok");
  await expectFound("api keys", "warning", /of main expires/, /issue/, undefined, nowMs + 10 * DAY_MS);
});

test("a check that hangs or throws leaves the others", async () => {
  const found = await runChecks(
    [
      { name: "hangs", run: () => new Promise(() => {}) },
      { name: "throws", run: () => Promise.reject(new Error("no")) },
      { name: "works", run: async () => ({ state: "ok", finding: "Yes.", remedy: "" }) },
    ],
    50,
  );
  expect(found.map(({ state }) => state)).toEqual(["fault", "fault", "ok"]);
  expect(found[0]!.finding).toMatch(/did not end/);
});

const run = async (...args: string[]) => {
  const program = join(import.meta.dirname, "../../../trainer/doctor/doctor-cli.ts");
  const env = { PATH: process.env.PATH };
  const result = promisify(execFile)(process.execPath, ["--no-warnings", program, ...args], { env, cwd: dir });
  return await result.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  );
};

test("the program prints lines or an array without secrets, and its exit code says whether there is a fault", async () => {
  const lines = await run("--dir", dir);
  expect(lines.code).toBe(1);
  expect(lines.stdout).toMatch(/^FAULT {3}edge: .*\n {8}→ Start it/m);
  const { code, stdout } = await run("--dir", dir, "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: "node", state: "ok", remedy: "" }));
  expect(lines.stdout + stdout).not.toContain(SECRET);
  expect((await run("--help")).code).toBe(0);
  expect((await run("--dri", dir)).code).toBe(2);
  expect(await run("--dir", join(dir, "gone"))).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("npm run setup"),
  });
});
