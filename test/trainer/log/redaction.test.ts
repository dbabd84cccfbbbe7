import { expect, test } from "vitest";
import { redacted, secretsIn, withoutSecrets } from "../../../trainer/log/redaction.ts";

const CONFIG = {
  id: "main",
  type: "Postgres",
  location: "postgres://reader:hunter2@db.example/shop?sslmode=require",
  port: 5432,
  password: { env: "SHORTLIST_SECRET_ACME__PASSWORD" },
  token: "tok-planted",
  tls: { ca: "-----BEGIN", verify: true },
  extra: ["one-planted", { deep: "two-planted" }],
};

test("only fields known to be harmless are shown, and references to secrets", () => {
  expect(withoutSecrets(CONFIG)).toEqual({
    id: "main",
    type: "Postgres",
    location: "postgres://reader:***@db.example/shop?sslmode=require",
    port: 5432,
    password: { env: "SHORTLIST_SECRET_ACME__PASSWORD" },
    token: "***",
    tls: { ca: "***", verify: true },
    extra: ["***", { deep: "***" }],
  });
});

test("every hidden text counts as a secret, the longest first", () => {
  expect(secretsIn(CONFIG)).toEqual(["tok-planted", "one-planted", "two-planted", "-----BEGIN", "hunter2"]);
  expect(secretsIn({ type: "File", location: "shop/*.csv?password=hunter3&x=1" })).toEqual(["hunter3"]);
  expect(secretsIn({ type: "File", location: "shop/*.csv" })).toEqual([]);
});

test("secrets are removed from every text, also where JSON or a URL has escaped them", () => {
  const secret = 'p"ss w0rd';
  const value = {
    a: `${secret}!`,
    b: [`x${JSON.stringify(secret)}`],
    c: `?p=${encodeURIComponent(secret)}`,
    d: 7,
    e: null,
  };
  expect(redacted(value, [secret])).toEqual({ a: "***!", b: ['x"***"'], c: "?p=***", d: 7, e: null });
});

test("short secrets are not removed, and a lone surrogate does not fail", () => {
  expect(redacted("abc", ["b"])).toBe("abc");
  expect(redacted("x\ud800yyyz", ["\ud800yyy"])).toBe("x***z");
});

test("a secret that contains another one is removed whole", () => {
  expect(redacted("secret-long", ["secret", "secret-long"])).toBe("***");
});
