import type { SampleUser } from "./sample-user.ts";
import type { ServiceClient } from "./service-client.ts";
import { expectStatus } from "./service-client.ts";

export type Ranked = { readonly ids: readonly string[]; readonly strategy: string; readonly line: string };

export type RankExample = {
  /** Heading of the list on the terminal. */
  readonly title: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
};

const LIMIT = 10;
const RETRIES = 60;
const PAUSE_MS = 500;

/** Three example calls: a known user, an anonymous session, and a filter. */
export function rankExamples(
  model: string,
  user: SampleUser,
  retrieval: Readonly<Record<string, unknown>>,
): { known: RankExample; session: RankExample; filtered: RankExample } {
  const path = `/v0/models/${model}/rank`;
  const session = user.latest.slice(-3).map((item_id) => ({ item_id }));
  return {
    known: {
      title: `For the user ${user.id}`,
      method: "GET",
      path: `${path}?user_id=${encodeURIComponent(user.id)}&limit=${LIMIT}`,
    },
    session: {
      title: "For an anonymous session with the same latest items",
      method: "POST",
      path,
      body: { interactions: session, limit: 5 },
    },
    filtered: {
      title: `For the user ${user.id}, only where ${JSON.stringify(retrieval)}`,
      method: "POST",
      path,
      body: { user_id: user.id, retrieval, limit: 5 },
    },
  };
}

/** Makes the example call and returns its answer with the curl line. It retries while the edge does not serve the version yet. */
export async function callRank(
  client: ServiceClient,
  example: RankExample,
  pause: (ms: number) => Promise<void>,
): Promise<Ranked> {
  for (let attempt = 1; ; attempt++) {
    const answer = await client.call(example.method, example.path, example.body);
    const isEarly = answer.status === 404 || answer.status === 409 || answer.status === 503;
    if (isEarly && attempt < RETRIES) {
      await pause(PAUSE_MS);
      continue;
    }
    const ids = (expectStatus(answer, 200) as (string | number)[]).map(String);
    return { ids, strategy: answer.headers.get("x-rank-strategy") ?? "", line: curlLine(client, example) };
  }
}

/** A command line for a POSIX shell that makes the same call. */
export function curlLine({ edgeUrl, apiKey }: ServiceClient, { method, path, body }: RankExample): string {
  const data = body === undefined ? "" : ` -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`;
  const verb = method === "GET" || data !== "" ? "" : ` -X ${method}`;
  return `curl -s${verb} ${quoted(edgeUrl + path)} -H ${quoted(`x-api-key: ${apiKey}`)}${data}`;
}

/** Formats the list as lines of rank, id and title. */
export function listText(ids: readonly string[], titles: ReadonlyMap<string, string>): string {
  if (ids.length === 0) return "   (nothing left to show)";
  const width = Math.max(...ids.map((id) => id.length));
  return ids
    .map((id, i) => `  ${String(i + 1).padStart(2)}  ${id.padEnd(width)}  ${titles.get(id) ?? ""}`.trimEnd())
    .join("\n");
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
