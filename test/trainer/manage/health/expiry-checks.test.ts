/** Each thing that will soon fail, really made, and what the doctor says about it. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Check, runChecks } from "../../../../trainer/manage/health/checks.ts";
import {
  checkCertificate,
  checkConditions,
  checkCredentials,
  checkEgress,
  checkKeys,
} from "../../../../trainer/manage/health/expiry-checks.ts";
import { issueKey, revokeKey } from "../../../../trainer/store/key-store.ts";
import { makeCertificates } from "../../../fixtures/certificates.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";

const DAY_MS = 86_400_000;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const found = async (check: Check) => (await runChecks([check]))[0]!;

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
const listen = async (answer: RequestListener) => `http://127.0.0.1:${await portOf(createServer(answer))}`;

test("a key that expires soon", async () => {
  const store = memoryStore();
  const nowMs = Date.now();
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const request = { customer: "acme", scopes: ["rank"], expiresAtMs: nowMs + 20 * DAY_MS, nowMs, random } as const;
  const { record } = await issueKey(store, request);
  expect(await found(checkKeys(store, () => nowMs))).toMatchObject({ state: "ok" });
  const later = () => nowMs + 10 * DAY_MS;
  expect(await found(checkKeys(store, later))).toMatchObject({
    state: "warning",
    finding: expect.stringContaining(`${record.key_id} of acme expires`),
    remedy: expect.stringContaining("issue --customer acme"),
  });
  await revokeKey(store, { keyId: record.key_id, nowMs });
  expect(await found(checkKeys(store, later))).toMatchObject({ state: "ok" });
});

test("temporary credentials of the bucket", async () => {
  const access = { endpoint: "http://127.0.0.1:1", bucket: "b", accessKeyId: "id", secretAccessKey: "secret" };
  expect(await found(checkCredentials(access))).toMatchObject({ state: "ok" });
  const temporary = await found(checkCredentials({ ...access, sessionToken: "token" }));
  expect(temporary).toMatchObject({ state: "warning", remedy: expect.stringContaining("permanent") });
});

test("a bucket that ignores conditions, and one that keeps them", async () => {
  let isKept = false;
  let isThere = false;
  const endpoint = await listen(({ method }, response) => {
    const isRefused = isKept && method === "PUT" && isThere;
    isThere = method === "PUT" || (isThere && method !== "DELETE");
    response.writeHead(isRefused ? 412 : method === "DELETE" ? 204 : 200, { etag: '"1"' }).end();
  });
  const access = { endpoint, bucket: "b", accessKeyId: "id", secretAccessKey: "secret" };
  expect(await found(checkConditions(access))).toMatchObject({
    state: "fault",
    remedy: expect.stringContaining("conditional writes"),
  });
  isKept = true;
  expect(await found(checkConditions(access))).toMatchObject({ state: "ok" });
  expect(isThere).toBe(false);
});

test("an egress address that is not set", async () => {
  const url = await listen((_, response) => response.end("fl=1\nip=192.0.2.7\nts=1\n"));
  expect(await found(checkEgress(url, ["192.0.2.7"]))).toMatchObject({ state: "ok" });
  expect(await found(checkEgress(url, ["192.0.2.9"]))).toMatchObject({
    state: "warning",
    remedy: expect.stringContaining("Add 192.0.2.7"),
  });
});

test("a certificate that is about to expire", async (context) => {
  const made = await makeCertificates("IP:127.0.0.1", {});
  if (made === undefined) return context.skip();
  try {
    const [key, cert] = await Promise.all([readFile(made.keyPath), readFile(made.certificatePath)]);
    const url = `https://127.0.0.1:${await portOf(createTlsServer({ key, cert }))}`;
    const validTo = /until (\S+)/.exec((await found(checkCertificate(url, () => 0))).finding)?.[1] ?? "";
    const at = (days: number) => found(checkCertificate(url, () => Date.parse(validTo) + days * DAY_MS));
    expect(await at(-20)).toMatchObject({ state: "ok" });
    expect(await at(-3)).toMatchObject({ state: "warning", remedy: expect.stringContaining("80 and 443") });
    expect(await at(1)).toMatchObject({ state: "fault" });
    expect(await found(checkCertificate("http://127.0.0.1:1", Date.now))).toMatchObject({ state: "ok" });
  } finally {
    await made.remove();
  }
});
