/**
 * A Node server that ranks with onnxruntime-node and the edge's rule, everything in memory, without keys, bucket or
 * erased users. Arguments: number of items, bytes for weights. Sends its port over IPC and exits with the IPC channel.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ItemIndex, UserId } from "../../shared/ids.ts";
import { rank } from "../../shared/rank.ts";
import { offlineSnapshot } from "../../trainer/choose/evaluate/offline-snapshot.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { drawnWorld, HISTORY_MAX, PER_USER } from "./edge-scale-world.ts";

const [itemCount, weightBytesMax] = process.argv.slice(2).map(Number) as [number, number];
const { exported, historyOf } = drawnWorld({ label: "native", itemCount, userCount: 1, weightBytesMax });
const histories = new Map<number, ItemIndex[]>();
const caseAt = (user: number) => {
  const items = histories.get(user) ?? historyOf(user, PER_USER);
  histories.set(user, items);
  return { items, times: items.map(() => 0), seen: new Set(items), relevant: [], nowSeconds: 0 };
};
const cases = {
  count: 1,
  itemCount,
  caseAt,
  sizesAt: () => ({ known: 0, wanted: 0 }),
  userAt: () => undefined,
  ownerAt: () => 0,
};
const snapshot = offlineSnapshot(cases, await openScorer(exported, itemCount), { historyMax: HISTORY_MAX });

const server = createServer(async (request, response) => {
  const query = new URL(request.url!, "http://localhost").searchParams;
  const userId = query.get("user_id") as UserId;
  const asked = { limit: Number(query.get("limit")), session: [], filter: undefined, nowSeconds: 0 };
  const { items } = await rank({ userId, ...asked, excludeSeen: true }, snapshot);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(items.map((item) => item + 1)));
});
server.listen(0, "127.0.0.1", () => process.send!({ port: (server.address() as AddressInfo).port }));
process.once("disconnect", () => process.exit());
