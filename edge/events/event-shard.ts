/**
 * A shard: the recent events of some of a customer's users. It is a Durable Object, so there is one of each name, and its answers wait
 * until what it has written is durable.
 *
 * A shard exports its events to files in the bucket, which the trainer reads. It keeps each event for a week, so that a repeated event is
 * recognised, and beyond that until all models have learnt it. If nobody trains, it keeps of older events only what ranking needs.
 */
import { DurableObject } from "cloudflare:workers";
import type { StoredEvent } from "../../shared/events/event.ts";
import { EventMarks, eventFileKey, learntMarksKey } from "../../shared/events/event-store.ts";
import type { LiveEvent } from "../../shared/events/live-events.ts";
import type { Merge } from "../../shared/events/merges.ts";
import type { ExposureCount } from "../../shared/experiment/counts.ts";
import type { UserId } from "../../shared/ids.ts";
import { type Bindings, settingsOf } from "../env.ts";
import type { CallMinute } from "../live/counts.ts";
import { within } from "../reading/waiting.ts";
import { writeLog } from "../request-log.ts";
import { addCalls, callsFrom } from "./call-minutes.ts";
import { countChoices } from "./count-choices.ts";
import { countUsers } from "./count-users.ts";
import { fileBytes, lastInFiles, nextFileEnd } from "./event-files.ts";
import { EventMinutes } from "./event-minutes.ts";
import { exportCounts } from "./exposure-counts.ts";
import { countExposures, expose, forgetOldExperiments, hasEnding, noteGoals, takeExposure } from "./exposures.ts";
import { moveMerges } from "./move-merges.ts";
import { compactUnlearnt, removeLearnt } from "./old-events.ts";
import { addMerges, forgetErasedMerges, mergesOf } from "./shard-merges.ts";
import {
  type Appended,
  type EventsOfUser,
  type Exposure,
  type ItemCount,
  LIVE_EVENTS_MAX,
  type LiveCounts,
  type LiveOfUsers,
  type ShardChoices,
  type ShardPlace,
  type ShardRpc,
  type ShownExperiment,
} from "./shard-rpc.ts";
import { ShardTables } from "./shard-tables.ts";
import { appendEvents, eraseUser, eventsAfter, forgetErased, knownIdsOf } from "./user-events.ts";

const HOUR_MS = 3_600_000;
/** How long every event is kept: the week within which a repeated event is recognised and a training must end, and a day more. */
const KEPT_MS = 8 * 24 * HOUR_MS;
/** How often a shard removes and compacts old events. */
const UPKEEP_MS = 6 * HOUR_MS;
const ERASED_MS = HOUR_MS;
/** From this many numbers that are not yet exported, the next file is due at once. */
const EXPORT_DUE = 10_000;
/** Counts of experiments are written this many times less often than events. */
const COUNTS_PER_EXPORT = 5;
const BUCKET_MS_MAX = 30_000;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 60_000;
/** A user with too many events is refused for this time without counting the events again. */
const FULL_MS = 60_000;
const FULL_USERS_MAX = 1000;
/** Counting takes a moment, and many isolates ask for the same counts. */
const COUNTED_MS = 1000;
const COUNTED_MAX = 20;

export class EventShard extends DurableObject<Bindings> implements ShardRpc {
  readonly #tables = new ShardTables(this.ctx.storage.sql);
  readonly #minutes = new EventMinutes(this.#tables);
  readonly #fullUntilMs = new Map<UserId, number>();
  readonly #counted = new Map<string, { readonly atMs: number; readonly counts: unknown }>(); // by what was asked
  #failures = 0;
  #retryAtMs = 0;

  async append(place: ShardPlace, batch: readonly EventsOfUser[]): Promise<Appended> {
    const nowMs = Date.now();
    const full = batch.map(({ user }) => user).filter((user) => (this.#fullUntilMs.get(user) ?? 0) > nowMs);
    if (full.length > 0) return { full };
    if (!this.#place) await this.#begin(place);
    const isDue = this.#tables.lastSeq - this.#tables.exported >= EXPORT_DUE;
    // Before the events are stored: an alarm without events does no harm, but events without an alarm would wait.
    await this.#wakeAt(Math.max(this.#retryAtMs, nowMs + (isDue ? 0 : this.#exportMs)));
    const appended = this.ctx.storage.transactionSync(() => {
      noteGoals(this.#tables, batch, nowMs);
      return appendEvents(this.#tables, batch, nowMs);
    });
    if ("full" in appended) {
      if (this.#fullUntilMs.size > FULL_USERS_MAX) this.#fullUntilMs.clear();
      for (const user of appended.full) this.#fullUntilMs.set(user, nowMs + FULL_MS);
    }
    return appended;
  }

  async knownIds(batch: readonly EventsOfUser[]): Promise<string[][]> {
    return batch.map((ofUser) => knownIdsOf(this.#tables, ofUser));
  }

  async liveEvents(users: readonly UserId[], afterSeq: number): Promise<LiveOfUsers> {
    const found = eventsAfter(this.#tables, users, { seq: afterSeq, max: LIVE_EVENTS_MAX });
    const events =
      found === "too_many"
        ? found
        : found.map(({ item_id, type, created_at }): LiveEvent => ({ item_id, type, created_at }));
    return { events, merges: mergesOf(this.#tables, users) };
  }

  async eventsOf(users: readonly UserId[], limit: number): Promise<StoredEvent[]> {
    let newest: StoredEvent[] = [];
    for (const user of users) {
      const events = [...newest, ...(eventsAfter(this.#tables, [user], { seq: 0, max: Infinity }) as StoredEvent[])];
      newest = events.sort((a, b) => b.created_at - a.created_at || b.seq - a.seq).slice(0, limit);
    }
    return newest;
  }

  async merge(place: ShardPlace, merges: readonly Merge[]): Promise<void> {
    const nowMs = Date.now();
    if (!this.#place) await this.#begin(place);
    await this.#wakeAt(Math.max(this.#retryAtMs, nowMs + this.#exportMs)); // as for events
    this.ctx.storage.transactionSync(() => addMerges(this.#tables, merges, nowMs));
  }

  async popularItems(types: readonly string[], limit: number): Promise<ItemCount[]> {
    return this.#countedOnce(JSON.stringify([types, limit]), () => countUsers(this.#tables, types, limit));
  }

  async choices(types: readonly string[], afterSeq: number, limit: number): Promise<ShardChoices> {
    const count = (nowMs: number) => countChoices(this.#tables, { types, afterSeq, limit }, nowMs / 1000);
    return this.#countedOnce(JSON.stringify([types, limit, afterSeq]), count);
  }

  #countedOnce<Counts>(key: string, count: (nowMs: number) => Counts): Counts {
    const nowMs = Date.now();
    const known = this.#counted.get(key);
    if (known && Math.abs(nowMs - known.atMs) < COUNTED_MS) return known.counts as Counts;
    if (this.#counted.size >= COUNTED_MAX) this.#counted.clear();
    const counts = count(nowMs);
    this.#counted.set(key, { atMs: nowMs, counts });
    return counts;
  }

  async erase(users: readonly UserId[]): Promise<void> {
    const untilMs = Date.now() + ERASED_MS;
    await this.#wakeAt(untilMs);
    this.ctx.storage.transactionSync(() => {
      for (const user of users) eraseUser(this.#tables, user, untilMs);
    });
  }

  async expose(place: ShardPlace, experiment: ShownExperiment, exposure: Exposure): Promise<void> {
    if (experiment.endsMs !== undefined) {
      if (!this.#place) await this.#begin(place);
      await this.#wakeAt(Math.max(this.#retryAtMs, Date.now() + this.#countsMs));
    }
    this.ctx.storage.transactionSync(() => expose(this.#tables, experiment, exposure, Date.now()));
  }

  async takeExposure(salt: string, user: UserId): Promise<Exposure | null> {
    return this.ctx.storage.transactionSync(() => takeExposure(this.#tables, salt, user));
  }

  async exposures(salt: string, stepMs: number): Promise<ExposureCount[]> {
    return countExposures(this.#tables, salt, stepMs);
  }

  async liveCounts(fromMinute: number): Promise<LiveCounts> {
    return this.#minutes.from(fromMinute);
  }

  async newestAt(): Promise<number> {
    return this.#tables.numberIn("SELECT MAX(at) AS value FROM (SELECT at FROM batches ORDER BY seq DESC LIMIT 1)");
  }

  async addCalls(minutes: readonly CallMinute[]): Promise<void> {
    this.ctx.storage.transactionSync(() => addCalls(this.#tables, minutes));
  }

  async callsFrom(minute: number): Promise<CallMinute[]> {
    return callsFrom(this.#tables, minute);
  }

  override async alarm(): Promise<void> {
    try {
      const isMore = [await this.#export(), await this.#upkeep()].includes(true);
      await this.#exportCounts();
      this.#failures = this.#retryAtMs = 0;
      if (isMore) return this.#wakeAt(Date.now());
      if (this.#tables.lastSeq > this.#tables.exported) return this.#wakeAt(Date.now() + this.#exportMs);
      const tables = ["batches", "merges", "erased"].map((table) => `EXISTS (SELECT 1 FROM ${table})`);
      const rows = `SELECT ${tables.join(" OR ")} AS value`;
      if (this.#tables.numberIn(rows) === 1) await this.#wakeAt(Date.now() + UPKEEP_MS);
    } catch (error) {
      // Cloudflare would give up after six attempts.
      const waitMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** this.#failures++);
      this.#retryAtMs = Date.now() + waitMs;
      writeLog({ event: "events_not_exported", level: "error", ...this.#place, error: String(error) });
      await this.ctx.storage.setAlarm(this.#retryAtMs);
    }
  }

  get #exportMs() {
    return settingsOf(this.env).EVENT_EXPORT_SECONDS * 1000;
  }

  /** How often the counts of experiments are written, which takes a look at all their users. */
  get #countsMs() {
    return COUNTS_PER_EXPORT * this.#exportMs;
  }

  async #exportCounts(): Promise<void> {
    const [place, nowMs] = [this.#place, Date.now()];
    const lastMs = Number(this.#tables.state("counts_at") ?? 0);
    if (place === undefined || !hasEnding(this.#tables)) return;
    if (lastMs <= nowMs && nowMs < lastMs + this.#countsMs) return this.#wakeAt(lastMs + this.#countsMs);
    const nextMs = await exportCounts(this.#tables, this.env.MODELS, place, nowMs);
    this.#tables.setState("counts_at", nowMs);
    if (nextMs < Number.POSITIVE_INFINITY) await this.#wakeAt(nextMs + this.#countsMs);
  }

  async #wakeAt(ms: number): Promise<void> {
    const alarm = await this.ctx.storage.getAlarm();
    if (alarm === null || alarm > ms) await this.ctx.storage.setAlarm(ms);
  }

  get #place(): ShardPlace | undefined {
    const [customer, shard] = [this.#tables.state("customer"), this.#tables.state("shard")];
    return customer === undefined ? undefined : { customer: String(customer), shard: String(shard) };
  }

  /** Names an empty shard. If the Worker was renamed, files of the shard's predecessor exist, whose numbers must not be used again. */
  async #begin(place: ShardPlace): Promise<void> {
    const exported = Math.max(await this.#learnt(place), await lastInFiles(this.env.MODELS, place));
    this.ctx.storage.transactionSync(() => {
      if (this.#place) return; // another call was faster
      this.#tables.setState("customer", place.customer);
      this.#tables.setState("shard", place.shard);
      this.#tables.setState("exported", exported);
    });
  }

  /**
   * Writes the next file. After a crash in between, the same numbers are written again under the same name, so that no event is in two
   * files. Returns whether there is another file to write.
   */
  async #export(): Promise<boolean> {
    const [place, first] = [this.#place, this.#tables.exported + 1];
    const begun = Number(this.#tables.state("exporting") ?? 0);
    const last = begun >= first ? begun : nextFileEnd(this.#tables);
    if (place === undefined || last < first) return false;
    const isMore = last < this.#tables.lastSeq;
    // Storage is durable before anything leaves the object, so the last number is stored before the file exists.
    this.#tables.setState("exporting", last);
    const key = eventFileKey(place.customer, { shard: place.shard, first, last });
    const bytes = await fileBytes(this.#tables, first, last);
    await within(BUCKET_MS_MAX, `writing ${key}`, this.env.MODELS.put(key, bytes));
    this.#tables.setState("exported", last);
    return isMore;
  }

  /** Removes and compacts old events, from time to time. Returns whether more are left. */
  async #upkeep(): Promise<boolean> {
    const [place, nowMs] = [this.#place, Date.now()];
    const lastMs = Number(this.#tables.state("upkeep_at") ?? 0);
    forgetErasedMerges(this.#tables, nowMs);
    forgetErased(this.#tables, nowMs);
    forgetOldExperiments(this.#tables, nowMs);
    if (place === undefined || (lastMs <= nowMs && nowMs < lastMs + UPKEEP_MS)) return false;
    if (await moveMerges(this.#tables, place, this.env)) return true;
    const old = { learnt: await this.#learnt(place), beforeMs: nowMs - KEPT_MS };
    return this.ctx.storage.transactionSync(() => {
      const isMore = [removeLearnt(this.#tables, old), compactUnlearnt(this.#tables, old)].includes(true);
      if (!isMore) this.#tables.setState("upkeep_at", nowMs);
      return isMore;
    });
  }

  /** The number up to which all models of the customer have learnt this shard's events. */
  async #learnt({ customer, shard }: ShardPlace): Promise<number> {
    const key = learntMarksKey(customer);
    const read = async () => (await this.env.MODELS.get(key))?.json();
    const marks = await within(BUCKET_MS_MAX, `reading ${key}`, read());
    return marks === undefined ? 0 : (EventMarks.parse(marks)[shard] ?? 0);
  }
}
