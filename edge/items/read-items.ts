/** The calls that show a model's items. */
import type { Context } from "hono";
import { parseItemIdInPath, parseRankBody, parseSimilarBody, queryOf } from "../../shared/api.ts";
import type { ItemId, ItemIndex } from "../../shared/ids.ts";
import { itemIdToJson } from "../../shared/ids.ts";
import { countsIn, countsRange, type ItemCounts } from "../../shared/item-counts.ts";
import { findItems } from "../../shared/items/find-items.ts";
import {
  type ChangedItemsQuery,
  cursorOfItem,
  parseItemsQuery,
  type SearchItemsQuery,
} from "../../shared/items/items-query.ts";
import { blobKey } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import { compileRequest } from "../../shared/rank.ts";
import { requireScope } from "../auth.ts";
import type { EdgeEnv } from "../isolate.ts";
import { missingHeader } from "../rank-answer.ts";
import { inTurn, requireRoom, type Waiting, withPlace } from "../ranking/capacity.ts";
import { withChanges } from "../ranking/changes-of-call.ts";
import { rankInTurn } from "../ranking/rank-in-turn.ts";
import { unreadableAs } from "../reading/artifact-reader.ts";
import { refuseQuery } from "../request-body.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { snapshotOf } from "../versions/snapshot-of-version.ts";
import { foundItem, isNewIn, isPlaced, isWithdrawnNew, shownChange, shownItem } from "./shown-item.ts";
import { callObject, type ItemsOfModel, withVersion } from "./version-of-items.ts";

/** Estimated time of a search for words, as a multiple of a rank call's. */
const WORDS_COST = 7;
const SIMILAR_SHOWN = 10;

/** `GET /v0/models/{model_name}/items` */
export async function listItems(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.get("caller")!, "items");
  const query = parseItemsQuery(queryOf(c.req.url));
  return query.changed ? listChanged(c, query) : searchItems(c, query);
}

/** `?changed=true&limit=&cursor=` */
const listChanged = (c: Context<EdgeEnv>, { limit, after }: ChangedItemsQuery): Promise<Response> =>
  withVersion(c, async ({ loaded: { catalog }, model }) => {
    const found = await callObject(c, model, (object) => object.list(model, after, limit + 1));
    const items = found.slice(0, limit).map(({ id, state }) => ({
      item_id: itemIdToJson(id, catalog.itemIdType),
      ...shownChange(state),
    }));
    const cursor = found.length > limit ? cursorOfItem(found[limit - 1]!.id) : undefined;
    return c.json({ items, ...(cursor !== undefined && { next_cursor: cursor }) });
  });

/** `?search=&retrieval=&limit=&offset=` */
const searchItems = (c: Context<EdgeEnv>, { filter, ...page }: SearchItemsQuery): Promise<Response> =>
  withRoom(c, async (waiting) =>
    withVersion(c, async (ofModel) => {
      const { loaded: source, access } = ofModel;
      const isolate = c.get("isolate");
      const { loaded, changeHeaders } = await withChanges({ requestId: c.get("requestId") }, isolate, ofModel, access);
      const itemCount = (page.search === "" ? 1 : WORDS_COST) * loaded.catalog.itemCount;
      const found = await inTurn({ ...waiting, itemCount }, isolate, async () => {
        const { snapshot, release } = snapshotOf(loaded);
        try {
          const request = { ...parseRankBody({}), filter, nowSeconds: 0 };
          const { isMatch, missing } = compileRequest(request, snapshot);
          const isWithdrawn = (item: ItemIndex) => isWithdrawnNew(loaded, item, source);
          const isWanted = (item: ItemIndex) => isMatch(item) && !isWithdrawn(item);
          return { ...findItems(loaded, { ...page, isMatch: isWanted }), missing };
        } finally {
          release();
        }
      });
      const items = found.items.map((item) => foundItem(loaded, item, source));
      const { version } = loaded.target.live;
      return c.json({ items, total: found.total, version }, 200, { ...changeHeaders, ...missingHeader(found.missing) });
    }),
  );

/** `GET /v0/models/{model_name}/items/{item_id}` */
export async function viewItem(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.get("caller")!, "items");
  refuseQuery(c.req.url);
  const id = parseItemIdInPath(new URL(c.req.url).pathname.split("/")[5]!);
  return withRoom(c, (waiting) =>
    withVersion(c, async (of) => {
      const { loaded, model } = of;
      const item = loaded.catalog.indexOf(id);
      const state = (await callObject(c, model, (object) => object.view(model, id))) ?? undefined;
      if (item === undefined && !isNewIn(loaded, state))
        throw new Problem("item_not_found", `The model has no item ${JSON.stringify(id)}.`);
      const isolate = c.get("isolate");
      const { loaded: changed } = await withChanges({ requestId: c.get("requestId") }, isolate, of, of.access);
      const similarItems = similarTo(id, c, { ...of, changed, waiting });
      const [counts, similar] = await Promise.all([countsOf(of, item), similarItems]);
      return c.json({
        item_id: itemIdToJson(id, loaded.catalog.itemIdType),
        ...shownItem(loaded, item, state),
        ...(item === undefined && { placed: isPlaced(changed, id) }),
        ...counts,
        similar_items: similar,
        version: loaded.target.live.version,
      });
    }),
  );
}

/** A call that computes takes a place and waits for its turn like a rank call. Throws RefusedCall. */
async function withRoom<T>(c: Context<EdgeEnv>, work: (waiting: Waiting) => Promise<T>): Promise<T> {
  const isolate = c.get("isolate");
  const waiting = { customer: c.get("caller")!.customer, nowMs: c.get("access").nowMs };
  await requireRoom(waiting, isolate);
  return withPlace(isolate.ranks, waiting, isolate, () => work(waiting));
}

const NO_COUNTS: ItemCounts = { interactions: 0, positives: 0 };
const UNREADABLE_COUNTS = unreadableAs("artifact_unavailable", "The item's interactions cannot be read right now");

/** Undefined for a version that was published without counts. Throws Problem artifact_unavailable. */
async function countsOf(
  { loaded, access }: ItemsOfModel,
  item: ItemIndex | undefined,
): Promise<ItemCounts | undefined> {
  const { target, manifest } = loaded;
  if (manifest.item_counts === undefined) return undefined;
  if (item === undefined) return NO_COUNTS;
  const key = blobKey(target.customer, target.modelName, manifest.item_counts.digest);
  return access.reader.range(key, countsRange(item), (page) => countsIn(page, item)).catch(UNREADABLE_COUNTS);
}

type Looking = {
  /** The version with the changes of its catalog. */
  readonly changed: LoadedVersion;
  readonly waiting: Waiting;
};

/** The items that the list of similar items begins with. None if only their popularity would speak for them. */
async function similarTo(
  id: ItemId,
  c: Context<EdgeEnv>,
  { loaded: source, changed: loaded, access, waiting }: ItemsOfModel & Looking,
) {
  const isolate = c.get("isolate");
  if (loaded.catalog.indexOf(id) === undefined) return []; // this isolate does not know a new item for some seconds
  const parameters = parseSimilarBody({ item_id: id, limit: SIMILAR_SHOWN });
  const { items, strategy } = await rankInTurn(waiting, isolate, { loaded, parameters, record: undefined }, access);
  return strategy === "similar" ? items.map((item) => foundItem(loaded, item, source)) : [];
}
