/** One visit of a simulated shopper, who asks for lists as a page does and acts on them by a known probability model. */
import { setTimeout } from "node:timers/promises";
import * as z from "zod";
import { affinity, type Random, type Taste } from "./demo-tastes.ts";
import { callService, expectStatus, type Service } from "./service-client.ts";

export type Shopper = { readonly id: string; readonly taste: Taste; readonly random: Random };
/** What the visits have done so far. */
export type VisitCounts = { lists: number; events: number; purchases: number };
type Shop = { readonly model: string; readonly counts: VisitCounts; readonly thinkMs?: number };

const Metadata = z.object({ category: z.string(), brand: z.string(), style: z.string(), price: z.number() });
const ListedItem = z.object({ item_id: z.union([z.int(), z.string()]), metadata: Metadata });
type ListedItem = z.infer<typeof ListedItem>;
const List = z.object({ rank_id: z.string(), items: z.array(ListedItem) });
type Action = { readonly item_id: string | number; readonly type: "view" | "purchase" };

const LISTS_MAX = 4;
/** The probability that a shopper who looked at one item looks at the next one, and that one who bought nothing wants another list. */
const LOOKS_ON = 0.9;
const STAYS = 0.75;
const THINK_MS = 2500;

/**
 * The shopper comes from a search for a brand, views an item there, and then asks for lists until something is bought or the shopper
 * has had enough. What a list led to is sent with its `rank_id`.
 *
 * @throws LocalError if the service refuses a call or does not answer.
 */
export async function visit(service: Service, shopper: Shopper, { model, counts, thinkMs = THINK_MS }: Shop) {
  const { id, taste, random } = shopper;
  const rank = async (body: object) => {
    const path = `/v0/models/${model}/rank`;
    return List.parse(expectStatus(await callService(service, "POST", path, { ...body, return: ["metadata"] }), 200));
  };
  const send = async (actions: readonly Action[], rank_id?: string) => {
    if (actions.length === 0) return;
    const events = actions.map((action) => ({ user_id: id, ...action, ...(rank_id && { rank_id }) }));
    expectStatus(await callService(service, "POST", "/v0/events", { events }), 200);
    counts.events += events.length;
  };

  const search = await rank({ retrieval: { brand: { $in: taste.brands } }, limit: 30 });
  const found = search.items.find(({ metadata }) => random() < viewProbability(taste, metadata));
  if (found) await send([{ item_id: found.item_id, type: "view" }]);
  for (let list = 0; list < LISTS_MAX && (list === 0 || random() < STAYS); list++) {
    const { items, rank_id } = await rank({ user_id: id });
    counts.lists++;
    const actions = actionsOn(items, shopper);
    await setTimeout(thinkMs * (0.5 + random()), undefined, { signal: service.signal });
    await send(actions, rank_id);
    if (!actions.some(({ type }) => type === "purchase")) continue;
    counts.purchases++;
    return;
  }
}

/** What the shopper does with a list, from the top. It ends with a purchase, or where the shopper stops looking. */
export function actionsOn(items: readonly ListedItem[], { taste, random }: Omit<Shopper, "id">): Action[] {
  const actions: Action[] = [];
  for (const { item_id, metadata } of items) {
    if (random() < viewProbability(taste, metadata)) {
      actions.push({ item_id, type: "view" });
      if (random() < purchaseProbability(taste, metadata)) return [...actions, { item_id, type: "purchase" }];
    }
    if (random() > LOOKS_ON) break;
  }
  return actions;
}

/** Whether an item in a list is viewed: 2 % if the shopper does not care for it, 65 % if everything is liked. */
const viewProbability = (taste: Taste, item: ListedItem["metadata"]) => logistic(2.1 * affinity(taste, item) - 3.4);

/** Whether a viewed item is bought: a cheap one more often, at the same taste. */
const purchaseProbability = (taste: Taste, item: ListedItem["metadata"]) =>
  logistic(1.5 * affinity(taste, item) - 2.5 - Math.log(item.price / 60));

const logistic = (x: number) => 1 / (1 + Math.exp(-x));
