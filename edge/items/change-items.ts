/** The call that changes a model's items. */
import type { Context } from "hono";
import { notAnAttribute } from "../../shared/attribute-values.ts";
import type { ItemId } from "../../shared/ids.ts";
import {
  CHANGE_FUTURE_SECONDS_MAX,
  ITEMS_BODY_BYTES_MAX,
  ItemsBody,
  valueFault,
} from "../../shared/items/change-items.ts";
import { CHANGED_ITEMS_MAX } from "../../shared/items/changes-file.ts";
import { isIdOf, NEW_ITEMS_MAX } from "../../shared/items/extended-catalog.ts";
import { parseJson, parseWith, pointerStep, problemOf } from "../../shared/parse-request.ts";
import { Problem, type ProblemPart } from "../../shared/problem.ts";
import { requireScope } from "../auth.ts";
import type { EdgeEnv } from "../isolate.ts";
import { jsonTextOf, readBody, refuseQuery } from "../request-body.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import type { Bound, ChangedModel, ItemChangesRpc, NewChange } from "./item-changes-rpc.ts";
import { askForPlaces } from "./placing.ts";
import { callObject, withVersion } from "./version-of-items.ts";

const ERRORS_MAX = 50;

/** `PATCH /v0/models/{model_name}/items` */
export async function changeItems(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.get("caller")!, "items");
  refuseQuery(c.req.url);
  const { itemBodies, changes } = c.get("isolate");
  const { nowMs } = c.get("access");
  const release = itemBodies.take(c.get("caller")!.customer, nowMs());
  if (release === undefined)
    throw new Problem("overloaded", "Too many calls that change items at once. Try again.", { retryAfterSeconds: 1 });
  try {
    const body = await readBody(c.req.raw, ITEMS_BODY_BYTES_MAX);
    const { items } = parseWith(ItemsBody, parseJson(jsonTextOf(body, c.req.header("content-type") ?? null)));
    return await withVersion(c, async ({ loaded, model }) => {
      const sent = changesIn(items, loaded, nowMs());
      const stored = await storeChanges(sent, loaded, (work) => callObject(c, model, (object) => work(object, model)));
      changes.invalidate(model, nowMs());
      const { changed, ignored, added } = stored;
      if (added === 0) return c.json({ changed, ignored });
      return c.json({ changed, ignored, new: added, placed: await askForPlaces(c, loaded) });
    });
  } finally {
    release();
  }
}

type Call = <T>(work: (object: ItemChangesRpc, model: ChangedModel) => Promise<T>) => Promise<T>;

/** Stores changes. If there are too many new items, those that the live version has by now are counted no more. Throws Problem. */
async function storeChanges(sent: readonly NewChange[], { catalog }: LoadedVersion, call: Call) {
  const store = () => call((object, model) => object.change(model, sent));
  let stored = await store();
  if ("full" in stored && stored.full === "new") {
    const ids = await call((object, model) => object.newIds(model));
    const known = ids.filter((id) => catalog.indexOf(id) !== undefined);
    if (known.length > 0) await call((object, model) => object.settle(model, known));
    stored = await store();
  }
  if ("full" in stored) throw tooMany(stored.full);
  if ("unknown" in stored) throw problemOf(stored.unknown.slice(0, ERRORS_MAX).map((i) => unknownItem(i, sent[i]!.id)));
  return stored;
}

const unknownItem = (i: number, id: ItemId): ProblemPart => ({
  pointer: `/items/${i}/item_id`,
  code: "invalid_parameter",
  message: `must be an item of the live version, or a new one with attributes, found ${JSON.stringify(id)}`,
});

type SentChanges = ReturnType<typeof ItemsBody.parse>["items"];

/** The changes of a request, with times. Throws one Problem that names every fault. */
function changesIn(items: SentChanges, { catalog, attributes: table }: LoadedVersion, nowMs: number): NewChange[] {
  const columns = table?.columns ?? new Map();
  const known = [...columns.keys()];
  const faults = items.flatMap(({ item_id, attributes, at }, i): ProblemPart[] => {
    const parts: ProblemPart[] = [];
    const add = (place: string, code: string, message: string) =>
      parts.push({ pointer: `/items/${i}${place}`, code, message });
    if (!isIdOf(catalog.itemIdType, item_id as ItemId))
      add("/item_id", "invalid_parameter", `must be an integer, as all item ids are, found ${JSON.stringify(item_id)}`);
    if (at !== undefined && at * 1000 > nowMs + CHANGE_FUTURE_SECONDS_MAX * 1000)
      add("/at", "invalid_parameter", `must be at most ${CHANGE_FUTURE_SECONDS_MAX} seconds in the future`);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      const column = columns.get(name);
      const fault = column === undefined ? notAnAttribute(name, known) : valueFault(column, value);
      const code = column === undefined ? "unknown_attribute" : "invalid_parameter";
      if (fault !== undefined) add(`/attributes${pointerStep(name)}`, code, fault);
    }
    return parts;
  });
  if (faults.length > 0) throw problemOf(faults.slice(0, ERRORS_MAX));
  return items.map(({ item_id, attributes, hidden, at }) => ({
    id: item_id as ItemId,
    attributes,
    hidden,
    at: at === undefined ? nowMs : at * 1000,
    isNew: catalog.indexOf(item_id as ItemId) === undefined,
  }));
}

const TOO_MANY: Readonly<Record<Bound, string>> = {
  items: `A model has at most ${CHANGED_ITEMS_MAX} changed items`,
  new: `A model has at most ${NEW_ITEMS_MAX} items that its live version was not trained with`,
  attributes: "The changes of a model name at most 400 attributes",
  bytes: "The changes of a model take at most 32 MiB",
};

const tooMany = (bound: Bound) =>
  new Problem("quota_exceeded", `${TOO_MANY[bound]}. Withdraw changes that are no longer needed, or train the model.`);
