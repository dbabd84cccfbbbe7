/** `GET /v0/docs`: the reference, ordered by tasks. Its script sends requests with the reader's key; the page works without it. */
import type { Context } from "hono";
import { html, raw } from "hono/html";
import { PROBLEMS, type ProblemCode } from "../../shared/problem.ts";
import type { EdgeEnv } from "../isolate.ts";
import { openApiDocument, problemsOf } from "../openapi.ts";
import type { Call } from "../openapi-call.ts";
import { CALLS } from "../openapi-calls.ts";
import { addressOf, curlOf, EXAMPLES, pythonOf, typeScriptOf } from "./examples.ts";
import { REMEDIES } from "./remedies.ts";
import { fieldsOf, type JsonSchema, prose, typeOf } from "./schema-html.ts";
import { STYLE } from "./style.ts";
import { TASKS, type Task } from "./tasks.ts";

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

type Content = { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
type Operation = {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly required?: boolean;
    readonly schema: JsonSchema;
  }[];
  readonly requestBody?: Content & { readonly description: string };
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>;
};
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

let page: string | undefined;

export function docsPage(c: Context<EdgeEnv>): Response | Promise<Response> {
  page ??= String(docsHtml());
  c.header("content-security-policy", POLICY);
  return c.html(page);
}

/** The page as HTML. */
export function docsHtml() {
  const { paths } = openApiDocument() as { paths: Paths };
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shortlist API</title>
<style>${raw(STYLE)}</style><script type="module" src="/docs.js"></script></head><body>
<nav aria-label="Calls"><h1>Shortlist API</h1><p><a href="/">Console</a></p>${TASKS.map(menuOf)}<h2><a href="#errors">Errors</a></h2></nav>
<main>
<p>Calls carry the header <code>x-api-key</code>. Clients: <a href="/client.js">client.js</a> and
<a href="/client.py">client.py</a>. A list on a web page: <a href="/shortlist-row.js">shortlist-row.js</a>.
For tools: <a href="/v0/openapi.json">openapi.json</a>.</p>
<form id="key" hidden><label>API key <input type="password" autocomplete="off" size="40"></label>
<small>stays in this tab, and is sent by <em>Try it</em></small></form>
${TASKS.map((task) => sectionOf(task, paths))}
<section id="errors"><h2>Errors</h2><p>Errors are <code>application/problem+json</code> (RFC 9457). <code>code</code> is one of
these, <code>errors</code> has the places in the request, and <code>request_id</code> names the call in the operator's log.</p>
<dl>${Object.entries(PROBLEMS).map(
    ([code, { status, title }]) =>
      html`<dt id="${code}"><code>${status} ${code}</code></dt>
<dd>${title}. <b>Remedy:</b> ${REMEDIES[code as ProblemCode]}</dd>`,
  )}</dl></section>
</main></body></html>
`;
}

const callOf = (id: string): Call => CALLS.find((call) => call.id === id)!;

const menuOf = ({ name, calls }: Task) =>
  html`<h2>${name}</h2><ul>${calls.map((id) => {
    const { method, path } = callOf(id);
    const short = path.replace("/v0/", "").replace("models/{model_name}/", "…/").replace("scenario_name", "name");
    return html`<li><a href="#${id}"><b>${method.toUpperCase()}</b> ${short}</a></li>`;
  })}</ul>`;

const sectionOf = ({ name, introduction, calls }: Task, paths: Paths) =>
  html`<section><h2>${name}</h2><p>${introduction}</p>${calls.map((id) => articleOf(callOf(id), paths))}</section>`;

function articleOf(call: Call, paths: Paths) {
  const { parameters = [], requestBody, responses } = paths[call.path]![call.method]!;
  const answers = call.answers.map(({ status }) => [status, responses[status]!] as const);
  return html`<article id="${call.id}"><h3>${call.summary}</h3>
<p><code class="address">${call.method.toUpperCase()} ${call.path}</code>${call.scope ? html` <small>scope ${call.scope}</small>` : ""}</p>
<p>${prose(call.description)}</p>
${examplesOf(call)}
${
  parameters.length > 0
    ? html`<h4>Parameters</h4><ul>${parameters.map(
        ({ name, in: place, description = "", required, schema }) =>
          html`<li><code>${name}</code> <i>${typeOf(schema)}</i> in ${place}
${required ? html`<b>required</b>` : ""} ${prose(description)}</li>`,
      )}</ul>`
    : ""
}
${
  requestBody
    ? html`<h4>Body <small>${requestBody.description}</small></h4>
${fieldsOf(schemaIn(requestBody)) || html`<p>An empty object.</p>`}`
    : ""
}
${answers.map(
  ([status, answer]) =>
    html`<h4>Answer ${status}</h4><p>${prose(answer.description)}</p>
<details><summary>${typeOf(schemaIn(answer))}</summary>${fieldsOf(schemaIn(answer))}</details>`,
)}
<details><summary>Errors</summary><p>${problemsOf(call).map(
    (code) => html`<a href="#${code}"><code>${PROBLEMS[code].status} ${code}</code></a> `,
  )}</p></details></article>`;
}

const schemaIn = ({ content }: Content): JsonSchema => content["application/json"]!.schema;

function examplesOf(call: Call) {
  const { body } = EXAMPLES[call.id]!;
  const method = call.method.toUpperCase();
  const examples = { curl: curlOf(call, "$EDGE"), TypeScript: typeScriptOf(call), Python: pythonOf(call) };
  return html`<div class="examples">${Object.entries(examples).map(
    ([language, code]) =>
      code &&
      html`<details ${language === "curl" ? "open" : ""}><summary>${language}</summary><pre>${code}</pre></details>`,
  )}<details class="try" hidden><summary>Try it</summary><form data-method="${method}">
<label>${method} <input name="address" size="60" value="${addressOf(call)}"></label>
${body ? html`<label>Body <textarea name="body" rows="6">${JSON.stringify(body, null, 2)}</textarea></label>` : ""}
<button>Send</button> <output></output></form></details></div>`;
}
