import { expect, test } from "vitest";
import { type Bindings, settingsOf } from "../../edge/env.ts";

const bucket = {} as R2Bucket;
const check = (variables: Record<string, unknown>, expected: object) =>
  expect(settingsOf({ MODELS: bucket, ...variables })).toMatchObject(expected);

test("without variables every setting has its default", () =>
  check({}, { TRAINER_URL: "", CACHE_MEGABYTES: 80, SERVE_UNFILTERED: false, CORS_ORIGINS: [] }));
test("variables may be text, numbers and booleans, as from TOML and from the dashboard", () => {
  check({ CACHE_MEGABYTES: "64", SERVE_UNFILTERED: "true" }, { CACHE_MEGABYTES: 64, SERVE_UNFILTERED: true });
  check({ CACHE_MEGABYTES: 64, SERVE_UNFILTERED: false }, { CACHE_MEGABYTES: 64, SERVE_UNFILTERED: false });
});
test("origins are split at commas", () =>
  check(
    { CORS_ORIGINS: " https://a.example, https://b.example," },
    { CORS_ORIGINS: ["https://a.example", "https://b.example"] },
  ));
test("the same bindings are parsed once", () => {
  const env: Bindings = { MODELS: bucket };
  expect(settingsOf(env)).toBe(settingsOf(env));
});

test.each([
  ["CACHE_MEGABYTES", "0"],
  ["CACHE_MEGABYTES", "121"],
  ["KEY_CACHE_SECONDS", "31"],
  ["LIKELY_CUSTOMER", "Acme"],
  ["READ_TIMEOUT_MS", "6001"],
  ["POINTER_CACHE_SECONDS", "6"],
  ["TRAINER_URL", "file:///etc/passwd"],
  ["TRAINER_URL", "http://trainer.example"],
  ["TRAINER_URL", "http://127.0.0.1.trainer.example"],
  ["CORS_ORIGINS", "a.example"],
  ["CORS_ORIGINS", "https://a.example/"],
  ["CORS_ORIGINS", "https://A.example"],
  ["SERVE_UNFILTERED", "perhaps"],
])("%s = %s is refused by name", (name, value) =>
  expect(() => settingsOf({ MODELS: bucket, [name]: value })).toThrow(name),
);
test.each(["https://trainer.example", "http://localhost:8788", "http://127.0.0.1:8788", "http://[::1]:8788"])(
  "TRAINER_URL = %s is accepted",
  (url) => expect(settingsOf({ MODELS: bucket, TRAINER_URL: url }).TRAINER_URL).toBe(url),
);

test("the value of a secret is not in the error", () => {
  const refusal = () => settingsOf({ MODELS: bucket, FORWARD_SECRET: "hunter2" });
  expect(refusal).toThrow("FORWARD_SECRET");
  expect(refusal).not.toThrow("hunter2");
});
