import { setTimeout } from "node:timers/promises";
import { identifier, literal } from "../read/connectors/sql-text.ts";
import type { LocalSource } from "./local-source.ts";
import type { Row } from "./local-tables.ts";
import { callService, expectStatus, type Service } from "./service-client.ts";
import { shellQuoted } from "./shell-quoted.ts";

type Call = { readonly path: string; readonly body?: object };
/** A call of the rank endpoint, with the heading of its list on the terminal. */
type Example = Call & { readonly title: string };
type Attributes = readonly { readonly name: string; readonly type: string }[];
type Output = { readonly attributes: Attributes; readonly print: (line: string) => void };

const HISTORY_WANTED = 30;
const LATEST_SHOWN = 5;
const TITLE_NAMES =
  /^((item|product|article|book|movie|film|song|track|anime|game|course|recipe|venue|place)[ _-]?)?(title|name)$|^headline$/i;
const ATTEMPTS_MAX = 60;
const PAUSE_MS = 500;

/**
 * Prints the lists of example calls with the curl line of each: a known user, an anonymous session, and a filter if the first item has a
 * category. Then says why the first item is there, and which items are similar to it. Returns the user's id; undefined if no row names a
 * user, and nothing is shown.
 */
export async function showRankings(
  service: Service,
  source: LocalSource,
  { attributes, print }: Output,
): Promise<string | undefined> {
  const path = `/v0/models/${source.body.model_name}/rank`;
  const user = await sampleUser(source);
  if (user === undefined) {
    print(`\nNo row of ${source.interactions.path} names a user and an item, so there is no list to show.`);
    return undefined;
  }
  const { id, latest } = user;
  const show = async (example: Example) => {
    const { ids, strategy } = await rank(service, example);
    const lines = (await titlesOf(source, ids)).map(
      ({ item, title }, i) => `  ${`${i + 1}`.padStart(2)}  ${item}  ${title}`,
    );
    print(`\n${example.title} (${strategy}):\n\n${curlLine(service, example)}\n\n${lines.join("\n")}`);
    return ids;
  };

  const named = async (ids: readonly string[]) =>
    (await titlesOf(source, ids)).map(({ item, title }) => title || item).join(", ");
  print(`\nThe latest items of user ${id}: ${await named(latest)}.`);
  const userParameter = encodeURIComponent(id);
  const [first = ""] = await show({ title: `For the user ${id}`, path: `${path}?user_id=${userParameter}&limit=10` });
  const session = { interactions: latest.slice(-3).map((item_id) => ({ item_id })), limit: 5 };
  await show({ title: "For an anonymous session with the same latest items", path, body: session });
  const details = await detailsOf(service, `${path}?user_id=${userParameter}&limit=10&return=reasons,metadata`);
  const known = details.map(({ metadata }) => metadata);
  const retrieval = filterOf(known, attributes);
  if (retrieval !== undefined) {
    const title = `For the user ${id}, only where ${JSON.stringify(retrieval)}`;
    await show({ title, path, body: { user_id: id, retrieval, limit: 5 } });
  }
  if (first === "") return id;
  const like = `/v0/models/${source.body.model_name}/similar_items?item_id=${encodeURIComponent(first)}&limit=3`;
  const reasons = (details[0]?.reasons ?? []).map(({ item_id }) => String(item_id));
  const similar = (await rank(service, { path: like })).ids;
  const because = reasons.length > 0 ? `, because of ${await named(reasons)}` : "";
  print(`\n${await named([first])} is first for user ${id}${because}. Similar to it: ${await named(similar)}.`);
  return id;
}

type Detail = { readonly reasons: readonly { readonly item_id: string | number }[]; readonly metadata: Row };

/** The items of a list with what is known of each. */
async function detailsOf(service: Service, path: string): Promise<readonly Detail[]> {
  const answer = expectStatus(await callService(service, "GET", path), 200);
  return (answer as unknown as { items: readonly Detail[] }).items;
}

/**
 * The user whose number of interactions is nearest to HISTORY_WANTED, with the latest items, oldest first and each once. Undefined if no
 * row names a user.
 */
export async function sampleUser({
  interactions,
  columns,
}: LocalSource): Promise<{ id: string; latest: string[] } | undefined> {
  const [user, item] = [columns.user, columns.item].map(identifier);
  const table = await interactions.withIds(`FROM ${interactions.name}`);
  const named = `FROM ${table} WHERE trim(${user}) <> '' AND trim(${item}) <> ''`;
  // Lists of all users' items in one query would need too much memory for large files.
  const [found] = await interactions.query(
    `SELECT ${user} AS id ${named} GROUP BY 1 ORDER BY abs(count(*) - ${HISTORY_WANTED}), 1 LIMIT 1`,
  );
  if (found === undefined) return undefined;
  const id = String(found.id);
  const time = columns.time === null ? "0" : `max(${identifier(columns.time)})`;
  const rows = await interactions.query(
    `SELECT ${item} AS item, ${time} AS time ${named} AND ${user} = ${literal(id)}
     GROUP BY 1 ORDER BY time DESC, item DESC LIMIT ${LATEST_SHOWN}`,
  );
  return { id, latest: rows.map((row) => String(row.item)).reverse() };
}

/** The items with their titles, empty where there is none. */
export async function titlesOf(source: LocalSource, ids: readonly string[]) {
  const column = source.items?.columns.find((name) => TITLE_NAMES.test(name)) ?? "";
  const rows = await itemsOf(source, ids);
  return ids.map((item) => ({ item, title: rows.get(item)?.[column] ?? "" }));
}

/** The rows of these items by id; empty without an items table. */
export async function itemsOf(source: LocalSource, ids: readonly string[]): Promise<ReadonlyMap<string, Row>> {
  if (source.items === null || ids.length === 0) return new Map();
  const id = identifier(source.columns.item);
  const table = await source.items.withIds(source.body.schema.item.source!.query);
  const rows = await source.items.query(
    `SELECT ${id} AS shown_id, * FROM ${table} WHERE ${id} IN (${ids.map(literal).join(", ")})`,
  );
  return new Map(rows.map((row) => [String(row.shown_id), row]));
}

/**
 * A filter that the first of these items passes and, if possible, some others but not all. Undefined if it has no category.
 *
 * @param items Their attributes.
 */
export function filterOf(items: readonly Row[], attributes: Attributes): object | undefined {
  const valuesOf = (item: Row | undefined, name: string) => [item?.[name] ?? []].flat().map(String);
  const names = attributes.filter(({ type }) => /^Category/.test(type)).map(({ name }) => name);
  const found = names
    .filter((name) => !TITLE_NAMES.test(name))
    .flatMap((name) => valuesOf(items[0], name).map((value) => ({ name, value })))
    .map((one) => ({ ...one, count: items.filter((item) => valuesOf(item, one.name).includes(one.value)).length }))
    .sort((a, b) => Number(a.count === items.length) - Number(b.count === items.length) || b.count - a.count)[0];
  return found && { [found.name]: { $in: [found.value] } };
}

/** Makes the call. It is repeated while the edge does not serve the version yet. */
export async function rank(
  service: Service,
  { path, body }: Call,
): Promise<{ ids: string[]; strategy: string | null }> {
  for (let attempt = 1; ; attempt++) {
    const answer = await callService(service, body ? "POST" : "GET", path, body);
    if (![404, 409, 503].includes(answer.status) || attempt === ATTEMPTS_MAX) {
      const ids = (expectStatus(answer, 200) as (string | number)[]).map(String);
      return { ids, strategy: answer.headers.get("x-rank-strategy") };
    }
    await setTimeout(PAUSE_MS, undefined, { signal: service.signal });
  }
}

/** A command line for a POSIX shell that makes the same call. */
export function curlLine({ edgeUrl, apiKey }: Service, { path, body }: Call): string {
  const data = body ? ` -H 'content-type: application/json' -d ${shellQuoted(JSON.stringify(body))}` : "";
  return `curl -s ${shellQuoted(edgeUrl + path)} -H ${shellQuoted(`x-api-key: ${apiKey}`)}${data}`;
}
