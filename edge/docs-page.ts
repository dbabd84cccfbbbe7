import type { Context } from "hono";
import { html } from "hono/html";
import { PROBLEMS } from "../shared/problem.ts";
import type { EdgeEnv } from "./isolate.ts";
import { problemsOf } from "./openapi.ts";
import type { Call } from "./openapi-call.ts";
import { CALLS } from "./openapi-calls.ts";

/** `GET /v0/docs`: all calls on one static page without scripts. */
export function docsPage(c: Context<EdgeEnv>): Response | Promise<Response> {
  c.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  return c.html(pageOf(new URL(c.req.url).origin));
}

/** The page as HTML. */
export const pageOf = (origin: string) => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shortlist API</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
code,pre{background:#f3f3f3;padding:.1em .3em;border-radius:3px}
pre{padding:1em;overflow:auto}
table{border-collapse:collapse}
td{border-top:1px solid #ddd;padding:.2em .8em .2em 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}code,pre{background:#222}a{color:#8cf}}
</style>
</head><body><h1>Shortlist API</h1>
<p>Every call but the health checks, this page and openapi.json carries the header <code>x-api-key</code>. Errors are
<code>application/problem+json</code> (RFC 9457). The machine-readable form is <a href="/v0/openapi.json">openapi.json</a>.</p>
<pre>curl -H "x-api-key: $KEY" "${origin}/v0/models/MODEL/rank?user_id=USER&amp;limit=10"</pre>
${CALLS.map(sectionOf)}
</body></html>
`;

function sectionOf(call: Call) {
  const scope = call.scope ? html`<p>Scope: <code>${call.scope}</code></p>` : "";
  const parameters = (call.parameters ?? []).map(({ name, description }) => row(name, description));
  const body = call.body ? [row("body", `JSON, at most ${call.body.bytesMax / 1024} KiB.`)] : [];
  const answers = call.answers.map(({ status, description }) => row(String(status), description));
  const problems = problemsOf(call).map((code) => row(`${PROBLEMS[code].status} ${code}`, PROBLEMS[code].title));
  return html`<h2><code>${call.method.toUpperCase()} ${call.path}</code></h2><p>${call.summary}.</p>
${call.description ? html`<p>${call.description}</p>` : ""}${scope}<table>${[...parameters, ...body, ...answers]}</table>
<details><summary>Errors</summary><table>${problems}</table></details>`;
}

const row = (name: string, text: string) => html`<tr><td><code>${name}</code></td><td>${text}</td></tr>`;
