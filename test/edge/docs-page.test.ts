import { expect, test } from "vitest";
import { createApp } from "../../edge/app.ts";
import { pageOf } from "../../edge/docs-page.ts";
import { CALLS } from "../../edge/openapi-calls.ts";

test("every call and every problem code is on the page", () => {
  const page = String(pageOf("https://edge.example"));
  for (const { method, path } of CALLS) expect(page).toContain(`${method.toUpperCase()} ${path}`);
  expect(page).toContain("user_record_unavailable");
});
test("it loads nothing, and an origin cannot inject HTML", () => {
  const page = String(pageOf('https://"><script>alert(1)</script>'));
  expect(page).not.toContain("<script");
  expect(page).not.toMatch(/(src|href)="(?!\/v0)/);
});
test("it is served as HTML under a policy that allows no scripts", async () => {
  const app = createApp({} as never);
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;
  const answer = await app.request("/v0/docs", {}, { MODELS: {} as R2Bucket }, context);
  expect(answer.headers.get("content-type")).toContain("text/html");
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await answer.text()).toContain("openapi.json");
});
