import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { LocalError } from "../local/local-error.ts";

const PAUSE_MS = 2000;
const TIMEOUT_MS = 10_000;
const Models = z.looseObject({ models: z.array(z.looseObject({ model_name: z.string() })) });

type Edge = { readonly url: string; readonly apiKey: string; readonly waitMs: number };

/**
 * Calls the deployed edge and returns what was found, as lines. A new address takes a while, so the first call is repeated
 * for `waitMs`. Throws LocalError if the edge does not serve.
 */
export async function checkEdge({ url, apiKey, waitMs }: Edge): Promise<string[]> {
  const call = async (path: string, key = apiKey, body?: unknown) => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const request = { headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    return await fetch(
      `${url}${path}`,
      body === undefined ? request : { ...request, method: "POST", body: JSON.stringify(body) },
    ).catch((cause: Error) => new Response(cause.message, { status: 599 }));
  };
  const untilMs = performance.now() + waitMs;
  let ready = await call("/health/ready");
  while (ready.status !== 200 && performance.now() < untilMs) {
    await sleep(PAUSE_MS);
    ready = await call("/health/ready");
  }
  if (ready.status !== 200)
    throw new LocalError(`${url} is not ready (${await statusOf(ready)}): run this again in a minute.`);
  const wrong = await call("/v0/models", "not-a-key");
  if (wrong.status !== 401) throw new LocalError(`${url} answered a wrong key with ${wrong.status} in place of 401.`);
  const lines = ["the Worker and its bucket are ready", "a wrong key is refused"];
  const models = await call("/v0/models");
  if (models.status === 503) return [...lines, "the key is valid; no trainer answers yet, so there are no models"];
  if (models.status !== 200) throw new LocalError(`${url}/v0/models answered ${await statusOf(models)}.`);
  const found = Models.safeParse(await models.json());
  if (!found.success)
    throw new LocalError(`${url}/v0/models answered with another form: are edge and trainer one release?`);
  const names = found.data.models.map(({ model_name }) => model_name);
  lines.push(`the key is valid, and the trainer answers: ${names.length} models`);
  for (const name of names.slice(0, 3)) {
    const startedMs = performance.now();
    const list = await call(`/v0/models/${encodeURIComponent(name)}/rank`, apiKey, { interactions: [], limit: 10 });
    const items = list.status === 200 ? z.array(z.string()).parse(await list.json()) : [];
    if (new Set(items).size !== items.length) throw new LocalError(`${name} has an item twice in one list.`);
    lines.push(
      `${name}: status ${list.status}, ${items.length} items in ${Math.round(performance.now() - startedMs)} ms`,
    );
  }
  return lines;
}

const statusOf = async (answer: Response) =>
  answer.status === 599 ? `no answer: ${await answer.text()}` : `status ${answer.status}`;
