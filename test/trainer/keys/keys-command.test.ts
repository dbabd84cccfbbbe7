import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashApiKey, isWellFormedApiKey } from "../../../shared/api-key.ts";
import { keyRecordKey } from "../../../shared/key-record.ts";
import { helpText, parseCommandLine } from "../../../trainer/command-line.ts";
import { KEYS, runKeysCommand } from "../../../trainer/keys/keys-command.ts";
import {
  newSecret,
  readServeSettings,
  ServeSettings,
  writeServeSettings,
} from "../../../trainer/serve/serve-settings.ts";
import { bucketOf } from "../../../trainer/serve/service-parts.ts";
import type { S3Options } from "../../../trainer/store/s3-request.ts";
import { startLocalR2 } from "../../fixtures/local-r2.ts";

const NOW = Date.UTC(2026, 0, 1);
let s3: S3Options;
let stop: () => Promise<void>;
let directory: string;
beforeAll(async () => {
  ({ s3, stop } = await startLocalR2());
  directory = await mkdtemp(join(tmpdir(), "keys-"));
});
afterAll(async () => {
  await stop();
  await rm(directory, { recursive: true });
});

const keys = async (line: string, more: Record<string, string> = {}): Promise<string> => {
  const given = parseCommandLine(KEYS, line.split(" ").filter(Boolean));
  if (given === "help") return helpText(KEYS);
  const { text, json } = await runKeysCommand(given, {
    environment: {
      SHORTLIST_S3_ENDPOINT: s3.endpoint,
      SHORTLIST_S3_BUCKET: s3.bucket,
      SHORTLIST_S3_ACCESS_KEY_ID: s3.accessKeyId,
      SHORTLIST_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      SHORTLIST_EGRESS_ADDRESSES: "192.0.2.1 192.0.2.2",
      SHORTLIST_SERVICE_ACCOUNTS: '{"cold": "cold@p.iam.gserviceaccount.com"}',
      ...more,
    },
    nowMs: NOW,
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
  });
  return given.flags.json ? JSON.stringify(json) : text;
};

test("issue, list, revoke", async () => {
  const issued = await keys("issue --customer acme --scopes rank --expires 90d");
  const key = /rk_\w+/.exec(issued)![0];
  expect(isWellFormedApiKey(key)).toBe(true);
  expect(issued).toMatch(/scopes +rank\n +expires +2026-04-01T00:00:00.000Z/);
  expect(issued).toContain("192.0.2.1, 192.0.2.2");
  const keyId = /key id +(\w+)/.exec(issued)![1];

  const listed = await keys("list --customer acme");
  expect(listed).toMatch(new RegExp(`^${keyId} +acme +rank +valid until 2026-04-01`, "m"));
  expect(listed).not.toContain(key.slice(3));

  expect(await keys(`revoke --key-id ${keyId}`)).toContain("was revoked at 2026-01-01T00:00:00.000Z");
  expect(await keys("list")).toMatch(new RegExp(`^${keyId} +acme +rank +revoked 2026`, "m"));
});

test("a key for web pages has origins, and a secret that is shown once", async () => {
  const issued = await keys("issue --customer pages --origins https://shop.example,http://localhost:3000 --sign-users");
  expect(issued).toMatch(
    /scopes +rank, events\n +expires +never\n +origins +https:\/\/shop.example, http:\/\/localhost:3000/,
  );
  const secret = /user secret +([0-9a-f]{64})\n/.exec(issued)![1]!;
  const [record] = JSON.parse(await keys("list --customer pages --json"));
  expect(record.origins).toEqual(["https://shop.example", "http://localhost:3000"]);
  const revoked = await keys(`revoke --key-id ${record.key_id} --json`);
  expect(JSON.stringify(record) + revoked).not.toContain(secret);
  const open = JSON.parse(await keys("issue --customer pages --origins https://shop.example --scopes rank --json"));
  expect([open.scopes, open.user_secret]).toEqual([["rank"], undefined]);
});

test("the service account comes from the settings, otherwise from the last key; a missing one is reported", async () => {
  const account = async (line: string) => JSON.parse(await keys(`${line} --json`)).service_account;
  expect(await account("issue --customer cold")).toBe("cold@p.iam.gserviceaccount.com");
  await expect(keys("issue --customer cold --service-account new@p.iam.gserviceaccount.com")).rejects.toThrow(
    "SHORTLIST_SERVICE_ACCOUNTS sets cold@p.iam.gserviceaccount.com for cold",
  );
  expect(await account("issue --customer warm --service-account new@p.iam.gserviceaccount.com")).toMatch(/^new@/);
  expect(await account("issue --customer warm")).toMatch(/^new@/);
  expect(await keys("issue --customer bare")).toMatch(/service account +none: --service-account/);
});

test("two customers cannot have the same account", async () => {
  await keys("issue --customer first --service-account own@p.iam.gserviceaccount.com");
  const taken = keys("issue --customer second --service-account own@p.iam.gserviceaccount.com");
  await expect(taken).rejects.toThrow("own@p.iam.gserviceaccount.com belongs to first");
  await keys("issue --customer cold");
  const configured = keys("issue --customer second --service-account cold@p.iam.gserviceaccount.com");
  await expect(configured).rejects.toThrow("belongs to cold");
  expect(JSON.parse(await keys("list --customer second --json"))).toEqual([]);
});

test("the grants of the customer and the operator are printed as commands, with the known names", async () => {
  const account = "grants@p.iam.gserviceaccount.com";
  const issued = await keys(
    `issue --customer grants-eu --service-account ${account} --project acme-shop --dataset shop`,
  );
  expect(issued).toContain(
    `gcloud projects add-iam-policy-binding acme-shop --member=serviceAccount:${account} --role=roles/bigquery.jobUser`,
  );
  expect(issued).toContain(
    `bq query --project_id=acme-shop --use_legacy_sql=false 'GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`acme-shop.shop\` TO "serviceAccount:${account}"'`,
  );
  expect(issued).toContain(`add-iam-policy-binding ${account} --project=p`);
  expect(issued).toContain("roles/iam.serviceAccountTokenCreator");
  expect(issued).toContain("admits connections from 192.0.2.1, 192.0.2.2:");
  expect(issued).toContain("SHORTLIST_SECRET_GRANTS_EU__DB");
  expect(await keys("issue --customer bare")).not.toContain("bq query");
});

test("--json prints everything for scripts", async () => {
  const issued = JSON.parse(await keys("issue --customer script --json"));
  expect(issued).toMatchObject({
    customer: "script",
    scopes: ["rank", "events", "manage"],
    expires_at: null,
    egress_addresses: ["192.0.2.1", "192.0.2.2"],
  });
  expect(JSON.parse(await keys("list --customer script --json"))).toHaveLength(1);
  expect(await keys("list --customer nobody")).toBe("No keys have been issued.");
});

test("without a command the help is the error", async () => {
  for (const line of ["--help", "issue --help"])
    expect(await keys(line)).toContain("npm run keys -- revoke --key-id ID");
  await expect(keys("")).rejects.toThrow("npm run keys -- revoke --key-id ID");
});

test.each([
  ["forget", 'There is no command "forget"'],
  ["constructor", "There is no command"],
  ["issue", "needs --customer"],
  ["issue --customer Acme", "must consist of a-z 0-9"],
  ["issue --customer acme --scopes rank,write", 'no scope "write"'],
  ["issue --customer acme --origins shop.example", "--origins must be like https://shop.example"],
  ["issue --customer acme --origins https://shop.example/", "--origins must be like"],
  ["issue --customer acme --origins https://shop.example --scopes rank,manage", "may not have the scope manage"],
  ["issue --customer acme --origins https://shop.example --scopes items", "may not have the scope items"],
  ["issue --customer acme --sign-users", "--sign-users needs --origins"],
  ["issue --customer acme --expires soon", "--expires must be like"],
  ["issue --customer acme --expires 5", "--expires must be like"],
  ["issue --customer acme --expires 2020-01-01", "not in the future"],
  ["issue --customer acme --service-account nobody", "e-mail address"],
  ["issue --customer acme --project $(rm)", "--project must be"],
  ["issue --customer acme --dataset a'b", "--dataset must"],
  ["issue --customer acme --colour red", "--colour"],
  ["issue now --customer acme", '"now"'],
  ["revoke", "--key-id"],
  ["revoke --key-id 000000000000", "no key with the id"],
])("%s is refused in one sentence", async (line, expected) => {
  const failure = (await keys(line).catch((error: Error) => error)) as Error;
  expect(failure.message).toContain(expected);
  expect(failure.message.split("\n")).toHaveLength(1);
});

test("missing settings are reported by name", async () => {
  await expect(keys("list", { SHORTLIST_S3_ENDPOINT: "" })).rejects.toThrow("SHORTLIST_S3_ENDPOINT is not set");
});

test("a state folder without a service, and one whose service is down, are refused", async () => {
  await expect(keys(`list --state ${directory}`)).rejects.toThrow("run npm start first");
  const down = { edge_url: "http://127.0.0.1:1", trainer_url: "http://127.0.0.1:1", api_key: "k", model_name: "m" };
  await writeFile(join(directory, "local.json"), JSON.stringify(down));
  await expect(keys(`list --state ${directory}`)).rejects.toThrow("not running: run npm start first");
});

test("with a state folder, keys are in the local bucket", async () => {
  const up = {
    edge_url: new URL(s3.endpoint).origin,
    trainer_url: "http://127.0.0.1:1",
    api_key: "k",
    model_name: "m",
  };
  await writeFile(join(directory, "local.json"), JSON.stringify(up));
  const issued = await keys(`issue --customer near --state ${directory}`).catch((error: Error) => error.message);
  expect(issued).toContain("The API key of near");
});

test.each(["disk", "s3"] as const)("keys of a service whose objects are on %s", async (kind) => {
  const dir = await mkdtemp(join(directory, "service-"));
  const { endpoint, bucket, accessKeyId: access_key_id, secretAccessKey: secret_access_key } = s3;
  const objects = kind === "disk" ? { kind } : { kind, endpoint, bucket, access_key_id, secret_access_key };
  const secrets = { forward_secret: newSecret(), internal_secret: newSecret() };
  const environment = { SHORTLIST_EGRESS_ADDRESSES: "192.0.2.9" };
  await writeServeSettings(dir, ServeSettings.parse({ format: 1, port: 8787, objects, environment, ...secrets }));
  const issued = await keys(`issue --customer served --dir ${dir}`);
  expect(issued).toContain("192.0.2.9");
  const [key] = /rk_\w+/.exec(issued)!;
  const store = bucketOf(dir, await readServeSettings(dir));
  const stored = await store.get(keyRecordKey(await hashApiKey(key)));
  expect(JSON.parse(new TextDecoder().decode(stored!.bytes))).toMatchObject({ customer: "served", revoked_at: null });
  const keyId = /key id +(\w+)/.exec(issued)![1];
  expect(await keys(`list --customer served --dir ${dir}`)).toContain(keyId);
  expect(await keys(`revoke --key-id ${keyId} --dir ${dir}`)).toContain("was revoked");
  await expect(keys(`list --dir ${dir}/none`)).rejects.toThrow("npm run setup");
});
