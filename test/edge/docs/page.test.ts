import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApp } from "../../../edge/app.ts";
import { Shortlist } from "../../../edge/client/shortlist.ts";
import { addressOf, curlOf, EXAMPLES, pythonOf, typeScriptOf } from "../../../edge/docs/examples.ts";
import { docsHtml } from "../../../edge/docs/page.ts";
import { CALLS } from "../../../edge/openapi-calls.ts";
import { PROBLEMS } from "../../../shared/problem.ts";
import { hasPython, runPython, UNLESS_SKIPPED } from "../../fixtures/python.ts";

const page = String(docsHtml());
/** What the example of a call sends. */
const requestOf = (call: (typeof CALLS)[number]) => ({
  method: call.method.toUpperCase(),
  address: addressOf(call),
  body: EXAMPLES[call.id]!.body,
});

test("every call and every problem code with its remedy is on the page", () => {
  for (const { id, method, path } of CALLS) {
    expect(page).toContain(`<article id="${id}">`);
    expect(page).toContain(`${method.toUpperCase()} ${path}`);
  }
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`<dt id="${code}">`);
});

test("links lead to places on the page or to files of the edge, and nothing else is loaded", () => {
  const targets = Array.from(page.matchAll(/(?:src|href)="([^"]+)"/g), ([, target]) => target!);
  const files = ["/", "/docs.js", "/client.js", "/client.py", "/shortlist-row.js", "/v0/openapi.json"];
  const broken = targets.filter((target) => !files.includes(target) && !page.includes(`id="${target.slice(1)}"`));
  expect(broken).toEqual([]);
  expect(page.match(/<script/g)).toHaveLength(1);
});

test("bodies and answers are described field by field", () => {
  expect(page).toMatch(/<code>max_per_value<\/code> <i>object<\/i>/);
  expect(page).toMatch(/<code>limit<\/code> <i>integer<\/i> \(1 to 500, default 15\)/);
  expect(page).toMatch(/<code>retrieval<\/code> <i>retrieval query<\/i>/);
  expect(page).toMatch(/<code>lon<\/code> <i>number or reference<\/i>/);
  expect(page).toMatch(/<code>rank_id<\/code> <i>string<\/i> <b>required<\/b>/);
});

test("it is served as HTML under a policy that allows only the edge's own script", async () => {
  const app = createApp({} as never);
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;
  const answer = await app.request("/v0/docs", {}, { MODELS: {} as R2Bucket }, context);
  expect(answer.headers.get("content-type")).toContain("text/html");
  expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none';.* script-src 'self';/);
  expect(await answer.text()).toBe(page);
});

test("examples fit the schemas of their calls", () => {
  for (const call of CALLS) {
    expect(addressOf(call)).not.toContain("{");
    const { body } = EXAMPLES[call.id]!;
    if (call.body?.isRequired) expect([call.id, call.body.schema.safeParse(body).error]).toEqual([call.id, undefined]);
    expect(curlOf(call, "$EDGE")).toContain(`"$EDGE${addressOf(call)}"`);
  }
});

test("the TypeScript examples make their calls", async () => {
  const made: object[] = [];
  const recorded: typeof fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url));
    const sent = init!.body ? JSON.parse(init!.body as string) : undefined;
    for (const event of sent?.events ?? []) delete event.event_id; // random
    made.push({ method: init!.method, address: pathname + search, body: sent });
    return Response.json({});
  };
  const shortlist = new Shortlist({ url: "http://edge", apiKey: "rk_key", fetch: recorded });
  const shown = CALLS.filter((call) => typeScriptOf(call) !== undefined);
  for (const call of shown) {
    const run = new Function("shortlist", `return (async () => { ${typeScriptOf(call)} })()`);
    await run(shortlist);
  }
  expect(made).toEqual(shown.map(requestOf).map(clientsForm));
});

test.skipIf(!hasPython)(`the Python examples make their calls${UNLESS_SKIPPED}`, async () => {
  const shown = CALLS.filter((call) => pythonOf(call) !== undefined);
  const folder = await mkdtemp(join(tmpdir(), "examples-"));
  try {
    const program = join(folder, "examples.py");
    writeFileSync(
      program,
      `import json
from shortlist import Shortlist
made = []
class Recorder(Shortlist):
    def call(self, method, path, body=None, **others):
        for event in (body or {}).get("events", []):
            del event["event_id"]
        made.append({"method": method, "address": path, **({"body": body} if body is not None else {})})
        return {"accepted": 1, "duplicates": 0}
shortlist = Recorder("http://edge", "rk_key")
${shown.map(pythonOf).join("\n")}
print(json.dumps(made))
`,
    );
    expect(JSON.parse(await runPython(program))).toEqual(
      JSON.parse(JSON.stringify(shown.map(requestOf).map(clientsForm))),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Clients send the id of a user to be erased in the body, where it may be any text, and an empty body to start something. */
function clientsForm(request: ReturnType<typeof requestOf>) {
  if (/^DELETE \/v0\/users/.test(`${request.method} ${request.address}`))
    return { method: "POST", address: "/v0/users/erase", body: { user_id: "u17" } };
  return request.method === "POST" ? { ...request, body: request.body ?? {} } : request;
}
