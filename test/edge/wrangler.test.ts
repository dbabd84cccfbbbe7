import { expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { type Bindings, settingsOf } from "../../edge/env.ts";
import { deployOutput } from "../fixtures/edge-bundle.ts";

const config = readConfig({ config: "wrangler.toml" }, { hideWarnings: true });

test("wrangler accepts the deployment", async () => {
  const output = await deployOutput();
  expect(output).toContain("--dry-run: exiting now.");
  expect(output).toContain("env.MODELS");
  expect(output).toContain("env.EVENTS (EventShard)");
  expect(output).toContain("env.ITEMS (LiveCatalog)");
  expect(output).toContain("env.RATE_LIMIT");
  expect(output).toContain("env.UNKNOWN_KEY_LIMIT");
});
test("it sets every variable but the secret, to the Worker's default", () => {
  const settings = settingsOf({ MODELS: {} as R2Bucket, ...config.vars } as Bindings);
  expect(Object.keys(config.vars).sort()).toEqual(
    Object.keys(settings)
      .filter((name) => name !== "FORWARD_SECRET")
      .sort(),
  );
  expect(settings).toEqual(settingsOf({ MODELS: {} as R2Bucket }));
});
test("the period of every rate limit is what Retry-After says", () => {
  for (const { simple } of config.ratelimits) expect(simple.period).toBe(config.vars.RATE_LIMIT_SECONDS);
});
test("the Worker's lines are logged, and no addresses of calls, which may contain user ids", () => {
  expect(config.observability).toEqual({ logs: { enabled: true, invocation_logs: false } });
});
test("it contains no secret", () => {
  expect(Object.keys(config.vars)).not.toContain("FORWARD_SECRET");
});
