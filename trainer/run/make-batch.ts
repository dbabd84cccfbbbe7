/**
 * Makes a batch: reads the live version, the users and their live events, ranks them in the order of the version's records, and stores the
 * rows as files. Erased users are left out by the list of erased users as it is when the files are written.
 */
import { openAsBlob } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { batchFileKey } from "../../shared/batch.ts";
import { hashesOf } from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import { openBatchScorer } from "../learn/scoring/batch-scorer.ts";
import { openHeadScorer } from "../learn/scoring/head-scorer.ts";
import { openScorer } from "../learn/scoring/onnx-scorer.ts";
import type { ConnectorContext } from "../read/connectors/connector.ts";
import { EVENTS_FOLDER, type FetchedEvents, fetchEvents } from "../read/connectors/events/fetch-events.ts";
import { literal } from "../read/connectors/sql-text.ts";
import { openStaging, readRow, runStaged, type Staging, stageTexts } from "../read/dataset/staging.ts";
import { readErasedUsers } from "../store/erased-list.ts";
import { readLivePointer } from "../store/live-pointer-swap.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { readScenario } from "../store/scenarios.ts";
import { readManifest } from "../store/versions.ts";
import type { BatchDone, BatchJob } from "./batch-job.ts";
import { batchRequest, isBestByScore, listsOf } from "./batch-lists.ts";
import { stageLiveEvents, stageUsers, usersFrom } from "./batch-users.ts";
import { openStoredVersion } from "./stored-version.ts";

export type BatchDeps = {
  readonly store: ObjectStore;
  readonly context: Omit<ConnectorContext, "events">;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly progress: (fraction: number, detail: string) => void;
  /** Rows of a file, of which there are as many as needed. Absent: FILE_ROWS_MAX. */
  readonly fileRowsMax?: number;
};

/** Users whose events are read at once. */
const USERS_AT_ONCE = 4096;
const FILE_ROWS_MAX = 2_000_000;
/** Part of the memory for DuckDB; the rest is for the version and its scores. */
const STAGING_MEMORY_FRACTION = 0.4;
/** Part of that rest for further threads of a model that is not scored in batches. */
const SCORER_MEMORY_FRACTION = 0.5;

/** Throws Problem model_not_active, scenario_not_found and of items; StageError; StoreError. */
export async function makeBatch(job: BatchJob, deps: BatchDeps): Promise<BatchDone> {
  const { customer, spec, body } = job;
  const { store, signal, nowMs, progress } = deps;
  const model = { customer, modelName: spec.model_name };
  progress(0, "reading the version");
  const pointer = (await readLivePointer(store, model))?.pointer;
  const name = pointer?.live?.version;
  const manifest = name === undefined ? undefined : await readManifest(store, model, name);
  if (name === undefined || manifest === undefined)
    throw new Problem("model_not_active", "The model has no version yet, so there are no lists to export.");
  const version = await openStoredVersion(store, model, { version: name, manifest, pointer: pointer! });
  const scenarioName = body.scenario ?? pointer?.default_scenario;
  const scenario = scenarioName === undefined ? undefined : await readScenario(store, model, scenarioName);
  const request = batchRequest(body, scenario, version);
  const nowSeconds = Math.floor(nowMs() / 1000);
  const { events: meanings } = spec.schema.interaction;
  const directory = join(job.modelDirectory, EVENTS_FOLDER);
  const events = meanings && (await fetchEvents(meanings, { store, customer, directory, signal }));
  const memoryMb = STAGING_MEMORY_FRACTION * job.memoryMbMax;
  const { workDirectory, diskBytesMax } = job;
  const staging = await openStaging({ workDirectory, memoryMb, diskBytesMax, signal });
  const scorerMb = (1 - STAGING_MEMORY_FRACTION) * job.memoryMbMax * SCORER_MEMORY_FRACTION;
  const { exported } = version;
  const [itemCount, memory] = [manifest.item_count, { memoryMbMax: scorerMb }];
  const heads = isBestByScore(request, version) ? await openHeadScorer(exported, itemCount, memory) : undefined;
  const batch = heads ? undefined : await openBatchScorer(exported, itemCount, memory);
  const scorer = batch ?? (await openScorer(exported, itemCount));
  try {
    const erased = await readErasedUsers(store, customer);
    const context = { ...deps.context, events };
    const detail = (text: string) => progress(0.05, text);
    const users = await stageUsers(staging, version, {
      spec,
      users: body.users,
      context,
      erased,
      signal,
      progress: detail,
    });
    const hasLive = events !== undefined && manifest.events !== undefined && manifest.events !== null;
    if (hasLive) await stageLiveEvents(staging, manifest, events);
    const persons = idsOfPersons(events);
    await runStaged(staging, "CREATE TABLE lists (user_id VARCHAR, rank INTEGER, item_id VARCHAR, score DOUBLE)");
    const appender = await staging.connection.createAppender("lists");
    const together = (heads ?? batch)!.count;
    for (let first = 0; first < users; first += USERS_AT_ONCE) {
      const some = await usersFrom(staging, { first, count: USERS_AT_ONCE, hasLive, persons });
      for (let at = 0; at < some.length; at += together) {
        signal.throwIfAborted();
        const rows = await listsOf(some.slice(at, at + together), { version, scorer, heads, request, nowSeconds });
        for (const { user, rank, item, score } of rows) {
          appender.appendVarchar(user);
          appender.appendInteger(rank);
          appender.appendVarchar(item);
          appender.appendDouble(score);
          appender.endRow();
        }
        progress(0.1 + (0.8 * (first + at)) / users, `${first + at} of ${users} users`);
      }
      appender.flushSync();
      await staging.checkDisk();
    }
    appender.closeSync();
    progress(0.9, "writing files");
    return { kind: "done", version: name, users, ...(await writeFiles(staging, job, deps, manifest.item_id_type)) };
  } finally {
    await heads?.close();
    await scorer.close();
    await staging.close();
  }
}

/** The other ids of each person. */
function idsOfPersons(events: FetchedEvents | undefined): ReadonlyMap<UserId, readonly UserId[]> {
  const ids = new Map<UserId, UserId[]>();
  for (const [id, person] of events?.persons ?? []) ids.set(person, [...(ids.get(person) ?? []), id]);
  return ids;
}

/**
 * Writes the rows as files in the format of the batch, stores them, and returns their names. A file is there as a whole or not at all.
 * Each is written and stored before the next one, without users who are erased by then.
 */
async function writeFiles(staging: Staging, job: BatchJob, deps: BatchDeps, itemIdType: string) {
  const { customer, spec, body, batchId, workDirectory } = job;
  const { store, fileRowsMax = FILE_ROWS_MAX } = deps;
  /** The condition for rows of users who are not erased, by the list as it is now. */
  const readKept = async () => {
    const erased = await readErasedUsers(store, customer);
    await stageTexts(staging, { name: "erased_hashes", column: "hash" }, erased ? hashesOf(erased) : []);
    return `substr(sha256('${erased?.salt ?? ""}' || user_id), 1, 16) NOT IN (SELECT hash FROM erased_hashes)`;
  };
  const itemId = itemIdType === "integer" ? "CAST(item_id AS BIGINT) AS item_id" : "item_id";
  const rows = body.items
    ? `SELECT ${itemId}, rank, user_id, score FROM (
         SELECT item_id, CAST(ROW_NUMBER() OVER (PARTITION BY item_id ORDER BY score DESC, user_id) AS INTEGER) AS rank, user_id, score
         FROM lists WHERE ${await readKept()}) WHERE rank <= ${body.users_per_item} ORDER BY item_id, rank`
    : `SELECT user_id, rank, ${itemId}, score FROM lists`;
  await runStaged(staging, `CREATE TABLE ordered_rows AS ${rows}`);
  await runStaged(staging, "DROP TABLE lists");
  const countOf = async (from: string) => Number((await readRow(staging, `SELECT count(*) AS n FROM ${from}`)).n);
  const all = await countOf("ordered_rows");
  const options = { parquet: "FORMAT parquet", csv: "FORMAT csv, HEADER", ndjson: "FORMAT json" }[body.format];
  const files: { name: string; bytes: number }[] = [];
  let count = 0;
  for (let first = 0; first === 0 || first < all; first += fileRowsMax) {
    const name = `${String(files.length + 1).padStart(4, "0")}.${body.format}`;
    const path = join(workDirectory, name);
    const some = `ordered_rows WHERE rowid >= ${first} AND rowid < ${first + fileRowsMax} AND ${await readKept()}`;
    await runStaged(staging, `COPY (SELECT * FROM ${some} ORDER BY rowid) TO ${literal(path)} (${options})`);
    count += await countOf(some);
    const key = batchFileKey(customer, spec.model_name, batchId, name);
    await store.delete(key); // of an earlier attempt, from before an erasure
    await store.putIfAbsent(key, await openAsBlob(path), "application/octet-stream");
    files.push({ name, bytes: (await stat(path)).size });
    await rm(path);
  }
  return { rows: count, files };
}
