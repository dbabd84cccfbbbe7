/**
 * The changed items of one model. It is a Durable Object, so there is one for each model, and its answers wait until what it has written
 * is durable. It alone writes the files of shared/items/changes-file.ts, which edges read.
 *
 * Every change has a number. The head has the items with higher numbers than the base. When it has too many, all items become a new base,
 * which is written before the head that names it, so that a crash in between leaves the old head with its old base.
 */
import { DurableObject } from "cloudflare:workers";
import { hexOf } from "../../shared/hash.ts";
import type { ItemId } from "../../shared/ids.ts";
import type { ItemState } from "../../shared/items/change-items.ts";
import {
  changesBaseKey,
  changesHeadKey,
  encodeItemChanges,
  HEAD_BYTES_MAX,
  HEAD_ITEMS_MAX,
} from "../../shared/items/changes-file.ts";
import { LivePointer, markOf } from "../../shared/live-pointer.ts";
import { type Descriptor, livePointerKey } from "../../shared/manifest.ts";
import type { Bindings } from "../env.ts";
import { sleep, within } from "../reading/waiting.ts";
import { writeLog } from "../request-log.ts";
import { ChangeTables } from "./change-tables.ts";
import type { ChangedModel, ItemChangesRpc, NewChange, Stored, StoredItem } from "./item-changes-rpc.ts";
import { forgetUnchanged, settleNew, storeWithin } from "./store-changes.ts";

/** R2 accepts one write of an object per second. */
const HEAD_PAUSE_MS = 1000;
/** An answer waits this long for the bucket. The change is durable anyway, and the alarm repeats what failed. */
const ANSWER_MS_MAX = 1500;
const BUCKET_MS_MAX = 10_000;
/** The alarm writes what a call was not able to write, because it was cut off. */
const ALARM_MS = 2000;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 10_000;
/** How long a replaced base stays: an edge may have read the head that names it, and a backup may have an older state of this object. */
const BASE_KEPT_MS = 3_600_000;
/** How often an object without changes checks that its model still exists. */
const UPKEEP_MS = 24 * 3_600_000;

type Place = { readonly customer: string; readonly modelName: string };

export class LiveCatalog extends DurableObject<Bindings> implements ItemChangesRpc {
  readonly #tables = new ChangeTables(this.ctx.storage.sql);
  #writing: Promise<void> | undefined;
  #writtenMs = 0;
  #failures = 0;

  async change(model: ChangedModel, changes: readonly NewChange[]): Promise<Stored> {
    await this.#become(model);
    // Before the changes are stored: an alarm without changes does no harm, but changes without an alarm would wait.
    await this.#wakeAt(Date.now() + ALARM_MS);
    const stored = storeWithin((work) => this.ctx.storage.transactionSync(work), this.#tables, model, changes);
    if (this.#tables.hasUnwritten) await Promise.race([this.#write().catch(() => undefined), sleep(ANSWER_MS_MAX)]);
    return stored;
  }

  async list(model: ChangedModel, after: string, limit: number): Promise<StoredItem[]> {
    return this.#isOf(model) ? this.#tables.listed(after, limit) : [];
  }

  async view(model: ChangedModel, id: ItemId): Promise<ItemState | null> {
    return this.#isOf(model) ? (this.#tables.stateOf(id) ?? null) : null;
  }

  async newIds(model: ChangedModel): Promise<ItemId[]> {
    return this.#isOf(model) ? this.#tables.newIds() : [];
  }

  async settle(model: ChangedModel, ids: readonly ItemId[]): Promise<void> {
    if (this.#isOf(model)) this.ctx.storage.transactionSync(() => settleNew(this.#tables, ids));
  }

  override async alarm(): Promise<void> {
    try {
      const place = this.#place;
      if (place === undefined) return;
      if ((await this.#liveMark(place)) !== this.#tables.text("mark")) return this.#tables.clear(); // the model was deleted
      if (this.#tables.hasUnwritten) await this.#write();
      const nextMs = await this.#deleteOldBases(place);
      this.#failures = 0;
      await this.#wakeAt(nextMs ?? Date.now() + UPKEEP_MS);
    } catch (error) {
      // Cloudflare would give up after six attempts.
      const waitMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** this.#failures++);
      writeLog({ event: "item_changes_not_written", level: "error", ...this.#place, error: String(error) });
      await this.ctx.storage.setAlarm(Date.now() + waitMs);
    }
  }

  get #place(): Place | undefined {
    const [customer, modelName] = [this.#tables.text("customer"), this.#tables.text("model_name")];
    return customer === undefined || modelName === undefined ? undefined : { customer, modelName };
  }

  #isOf({ mark }: ChangedModel): boolean {
    return this.#tables.text("mark") === mark;
  }

  /** Forgets the changes of a deleted model whose name is used again. The caller may itself know an old version, so the bucket decides. */
  async #become(model: ChangedModel): Promise<void> {
    if (this.#isOf(model)) return;
    if (this.#place !== undefined && (await this.#liveMark(model)) !== model.mark)
      throw new Error("the model was deleted or replaced meanwhile");
    this.ctx.storage.transactionSync(() => {
      if (this.#isOf(model)) return; // another call was faster
      this.#tables.clear();
      this.#tables.set("customer", model.customer);
      this.#tables.set("model_name", model.modelName);
      this.#tables.set("mark", model.mark);
    });
  }

  /** The mark of the model that has the name now; undefined: none has. */
  async #liveMark({ customer, modelName }: Place): Promise<string | undefined> {
    const key = livePointerKey(customer, modelName);
    const read = async () => (await this.env.MODELS.get(key))?.json();
    const found = await within(BUCKET_MS_MAX, `reading ${key}`, read());
    if (found === undefined) return undefined;
    const { status, live } = LivePointer.parse(found);
    return status === "DESTROYING" || live === null ? undefined : markOf(live);
  }

  async #wakeAt(ms: number): Promise<void> {
    const alarm = await this.ctx.storage.getAlarm();
    if (alarm === null || alarm > ms) await this.ctx.storage.setAlarm(ms);
  }

  /** Writes until the bucket has all changes. Calls at the same time share the writes. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#tables.hasUnwritten) {
      const place = this.#place;
      if (place === undefined) return;
      const pauseMs = this.#writtenMs + HEAD_PAUSE_MS - Date.now();
      if (pauseMs > 0) await sleep(Math.min(pauseMs, HEAD_PAUSE_MS));
      await this.#writeOnce(place);
    }
  }

  async #writeOnce(place: Place): Promise<void> {
    const [last, mark, base] = [this.#tables.number("seq"), this.#tables.text("mark"), this.#tables.base];
    const items = this.#tables.changedAfter(this.#tables.number("base_seq"), HEAD_ITEMS_MAX + 1);
    const head = items.length > HEAD_ITEMS_MAX ? undefined : encodeItemChanges(items, base);
    const forgets = this.#tables.number("forgets");
    const hasOldBase = base !== null && forgets !== this.#tables.number("base_forgets");
    const isFull = head === undefined || head.length > HEAD_BYTES_MAX || hasOldBase;
    const newBase = isFull ? await this.#writeBase(place) : undefined;
    await this.#put(changesHeadKey(place.customer, place.modelName), newBase ? encodeItemChanges([], newBase) : head!);
    this.#writtenMs = Date.now();
    if (this.#tables.text("mark") !== mark) return; // meanwhile cleared for another model
    this.ctx.storage.transactionSync(() => {
      this.#tables.set("written", last);
      if (newBase === undefined) return;
      const untilMs = Date.now() + BASE_KEPT_MS;
      if (base !== null) this.#tables.query("INSERT OR REPLACE INTO bases VALUES (?, ?)", base.digest, untilMs);
      this.#tables.set("base", JSON.stringify(newBase));
      this.#tables.set("base_seq", last);
      this.#tables.set("base_forgets", forgets);
      forgetUnchanged(this.#tables, Date.now());
    });
  }

  /** Writes all changes as a new base, which no head names yet. */
  async #writeBase({ customer, modelName }: Place): Promise<Descriptor> {
    const bytes = encodeItemChanges(this.#tables.allChanged(), null) as Uint8Array<ArrayBuffer>;
    const digest = `sha256:${hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)))}`;
    // If the object ends before the head is written, this base is deleted later.
    this.#tables.query("INSERT OR REPLACE INTO bases VALUES (?, ?)", digest, Date.now() + BASE_KEPT_MS);
    await this.#put(changesBaseKey(customer, modelName, digest), bytes);
    return { media_type: "application/octet-stream", digest, size: bytes.length };
  }

  async #put(key: string, bytes: Uint8Array): Promise<void> {
    await within(BUCKET_MS_MAX, `writing ${key}`, this.env.MODELS.put(key, bytes));
  }

  /** Deletes bases that no edge needs any more. Returns when the next one can be deleted; undefined: there is none. */
  async #deleteOldBases({ customer, modelName }: Place): Promise<number | undefined> {
    const old = this.#tables.query<{ digest: string; until: number }>("SELECT digest, until FROM bases ORDER BY until");
    for (const { digest, until } of old) {
      if (until > Date.now()) return until;
      if (digest !== this.#tables.base?.digest) {
        const key = changesBaseKey(customer, modelName, digest);
        await within(BUCKET_MS_MAX, `deleting ${key}`, this.env.MODELS.delete(key));
      }
      this.#tables.query("DELETE FROM bases WHERE digest = ? AND until = ?", digest, until);
    }
    return undefined;
  }
}
