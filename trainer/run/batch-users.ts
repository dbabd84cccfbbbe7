/** The users of a batch in DuckDB, in the order of the hashes by which the version stores their records. */
import type { BatchBody } from "../../shared/batch.ts";
import { type ErasedUsers, hashesOf } from "../../shared/erased-users.ts";
import type { LiveEvent } from "../../shared/events/live-events.ts";
import type { ItemId, UserId } from "../../shared/ids.ts";
import type { Manifest } from "../../shared/manifest.ts";
import { EVENTS_QUERY, EVENTS_SCHEMA, joinedEventsOf, type ModelSpec, type Source } from "../../shared/model-spec.ts";
import type { ConnectorContext } from "../read/connectors/connector.ts";
import { PERSONS, storedEventsSql, tableOfPersons } from "../read/connectors/events/events.ts";
import type { FetchedEvents } from "../read/connectors/events/fetch-events.ts";
import { connectorsOf, openQuery, stageOpened } from "../read/dataset/stage-query.ts";
import { readRow, readStaged, runStaged, type Staging, stageTexts } from "../read/dataset/staging.ts";
import { idReading } from "../read/rules/dialect.ts";
import { idExpression } from "../read/rules/id-expression.ts";
import type { StageProgress } from "../stage/stage-reporter.ts";
import type { BatchUser } from "./batch-lists.ts";
import type { StoredVersion } from "./stored-version.ts";

export type UserSources = {
  readonly spec: ModelSpec;
  readonly users: BatchBody["users"];
  readonly context: ConnectorContext;
  readonly erased: ErasedUsers | undefined;
  readonly signal: AbortSignal;
  readonly progress: (detail: string) => void;
};

/** Makes the table `batch_users` (id, hash) of distinct users who are not erased. Returns their number. */
export async function stageUsers(staging: Staging, version: StoredVersion, sources: UserSources): Promise<number> {
  const { users, context, erased } = sources;
  await runStaged(staging, "CREATE TABLE found_ids (id VARCHAR)");
  if (Array.isArray(users)) {
    await stageTexts(staging, { name: "given_ids", column: "id" }, users.map(String));
    await runStaged(staging, "INSERT INTO found_ids SELECT id FROM given_ids");
  } else await stageFromSources(staging, users, sources);
  await tableOfPersons(staging.connection, context.events?.persons ?? new Map());
  await stageTexts(staging, { name: "erased_hashes", column: "hash" }, erased ? hashesOf(erased) : []);
  const ids = `SELECT DISTINCT COALESCE(person, found_ids.id) AS id FROM found_ids LEFT JOIN ${PERSONS} AS persons ON persons.id = found_ids.id`;
  const isErased = `substr(sha256('${erased?.salt ?? ""}' || id), 1, 16) IN (SELECT hash FROM erased_hashes)`;
  await runStaged(staging, `CREATE TABLE kept_ids AS SELECT id FROM (${ids}) WHERE id <> '' AND NOT (${isErased})`);
  await runStaged(staging, "CREATE TABLE batch_users (id VARCHAR, hash VARCHAR)");
  const appender = await staging.connection.createAppender("batch_users");
  for (let first = 0; ; first += CHUNK) {
    const rows = await readStaged(
      staging,
      `SELECT id FROM kept_ids WHERE rowid >= ${first} AND rowid < ${first + CHUNK}`,
    );
    if (rows.length === 0) break;
    for (const { id } of rows) {
      const { high, low } = version.hashOf(id as UserId);
      appender.appendVarchar(id as string);
      appender.appendVarchar(hex(high) + hex(low));
      appender.endRow();
    }
  }
  appender.closeSync();
  await runStaged(staging, "CREATE TABLE ordered_users AS SELECT id, hash FROM batch_users ORDER BY hash, id");
  return Number((await readRow(staging, "SELECT count(*) AS n FROM ordered_users")).n);
}

const CHUNK = 50_000;
const hex = (half: number) => half.toString(16).padStart(8, "0");

async function stageFromSources(staging: Staging, users: "all" | { readonly source: Source }, sources: UserSources) {
  const { spec, context, signal, progress } = sources;
  const connectors = connectorsOf(spec, { context });
  const options = { connectors, signal, progress: ({ detail }: StageProgress) => detail && progress(detail) };
  const { user, interaction } = spec.schema;
  const joined = joinedEventsOf(spec);
  const queries =
    users === "all"
      ? [
          { source: interaction.source, column: user.id },
          ...(user.source ? [{ source: user.source, column: user.id }] : []),
          ...(joined
            ? [
                {
                  source: { query: EVENTS_QUERY, ...(joined.id !== undefined && { connector_id: joined.id }) },
                  column: "user_id",
                },
              ]
            : []),
        ]
      : [{ source: users.source, column: undefined }];
  try {
    for (const [i, { source, column }] of queries.entries()) {
      const choose = (available: readonly string[]) =>
        column === undefined || !available.includes(column) ? available.slice(0, 1) : [column];
      const opened = await openQuery({ name: `user_rows_${i}`, what: "users", source, choose }, options);
      const { table } = await stageOpened(staging, opened, options);
      const [first] = table.columns;
      const isEvents = source.query === EVENTS_QUERY && joined !== undefined;
      const id =
        first && idExpression(first.sql, first.type, idReading("user", isEvents ? EVENTS_SCHEMA : spec.schema));
      if (id === undefined) continue;
      await runStaged(
        staging,
        `INSERT INTO found_ids SELECT DISTINCT ${id.text(id.key)} FROM ${table.name} WHERE (${id.reason}) IS NULL`,
      );
      await runStaged(staging, `DROP TABLE ${table.name}`);
    }
  } finally {
    await connectors.close();
  }
}

/** Makes the table `live_events` of exported events that the version has not learnt, under the ids of persons. */
export async function stageLiveEvents(staging: Staging, manifest: Manifest, events: FetchedEvents): Promise<void> {
  const { learnt } = manifest.events!;
  const files = events.files.filter(({ shownAs }) => lastOf(shownAs) > (learnt[shardOf(shownAs)] ?? 0));
  const marks = Object.entries(learnt).map(([shard, seq]) => `WHEN '${shard}' THEN ${seq}`);
  const mark = marks.length > 0 ? `CASE shard ${marks.join(" ")} ELSE 0 END` : "0";
  await runStaged(
    staging,
    "CREATE TABLE live_events (id VARCHAR, item VARCHAR, type VARCHAR, seconds DOUBLE, shard VARCHAR, seq BIGINT)",
  );
  for (const file of files) {
    const shard = shardOf(file.shownAs);
    const from = storedEventsSql({ files: [file] });
    await runStaged(
      staging,
      `INSERT INTO live_events SELECT user_id, item_id, type, created_at, shard, seq FROM (SELECT *, '${shard}' AS shard FROM ${from}) WHERE seq > ${mark}`,
    );
  }
}

const shardOf = (key: string) => key.split("/").at(-2)!;
const lastOf = (key: string) => Number(/-(\d{15})\.ndjson\.gz$/.exec(key)?.[1] ?? 0);

/** Some users in their order, with the events and the other ids of each person. */
export async function usersFrom(
  staging: Staging,
  {
    first,
    count,
    hasLive,
    persons,
  }: {
    readonly first: number;
    readonly count: number;
    readonly hasLive: boolean;
    readonly persons: ReadonlyMap<UserId, readonly UserId[]>;
  },
): Promise<BatchUser[]> {
  const range = `rowid >= ${first} AND rowid < ${first + count}`;
  const rows = await readStaged(staging, `SELECT id FROM ordered_users WHERE ${range} ORDER BY rowid`);
  const ids = rows.map(({ id }) => id as UserId);
  const personOf = new Map<string, UserId>();
  for (const id of ids) for (const each of [id, ...(persons.get(id) ?? [])]) personOf.set(each, id);
  const live = new Map<UserId, LiveEvent[]>();
  if (hasLive) {
    await stageTexts(staging, { name: "asked_ids", column: "id" }, personOf.keys());
    const events = await readStaged(
      staging,
      "SELECT live_events.id AS id, item, type, seconds FROM live_events JOIN asked_ids ON asked_ids.id = live_events.id ORDER BY shard, seq",
    );
    for (const { id, item, type, seconds } of events) {
      const person = personOf.get(id as string)!;
      const event = { item_id: item as ItemId, type: type as string, created_at: seconds as number };
      live.set(person, [...(live.get(person) ?? []), event]);
    }
  }
  return ids.map((id) => ({ id, others: persons.get(id) ?? [], live: live.get(id) ?? [] }));
}
