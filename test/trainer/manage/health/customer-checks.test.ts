import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Check, runChecks } from "../../../../trainer/manage/health/checks.ts";
import { checkLimits, checkSourceSecrets } from "../../../../trainer/manage/health/customer-checks.ts";
import { makeCertificates } from "../../../fixtures/certificates.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const found = async (check: Check) => (await runChecks([check]))[0]!;

test.each([
  ["ok", { models: 89, runs: 44 }],
  ["warning", { models: 90, runs: 0 }],
  ["warning", { models: 0, runs: 45 }],
  ["warning", { models: 101, runs: 0 }], // the operator has lowered the limit
])("%s with %o of 100 models and 50 runs", async (state, used) =>
  expect(await found(checkLimits(used, { models: 100, queue: 50 }))).toMatchObject({ state }),
);

test("a secret that is not set, and a certificate that is about to expire", async (context) => {
  const sslrootcert = { env: "SHORTLIST_SECRET_ACME__CA" };
  const connector = { type: "Postgres", location: "postgres://reader@db.example/shop", sslrootcert };
  const models = [{ modelName: "shop", spec: specOf("shop", "SELECT 1", { connector_configs: [connector] }) }];
  const at = (value: string | undefined, nowMs: number) =>
    found(
      checkSourceSecrets(
        models,
        (name) => (name === sslrootcert.env ? value : undefined),
        () => nowMs,
      ),
    );
  expect(await at(undefined, 0)).toMatchObject({ state: "fault", finding: expect.stringContaining("ACME__CA") });
  expect(await at("a password", 0)).toMatchObject({ state: "ok" });
  expect(await at("-----BEGIN CERTIFICATE-----\nno", 0)).toMatchObject({ state: "ok" });
  const made = await makeCertificates("IP:127.0.0.1", {});
  if (made === undefined) return context.skip();
  const certificate = await readFile(made.certificatePath, "utf8");
  await made.remove();
  expect(await at(certificate, 0)).toMatchObject({ state: "ok" });
  const soon = await at(certificate, Date.now());
  expect(soon).toMatchObject({ state: "warning", finding: expect.stringContaining("of shop is valid until 20") });
});
