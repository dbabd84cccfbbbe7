import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { AttributeColumn } from "../../../shared/attributes.ts";
import { simulate } from "../../../trainer/local/simulate.ts";
import { putExperiment } from "../../../trainer/store/experiments.ts";
import { SHOP_ITEMS, shopDataset } from "../../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const MODEL = { customer: "acme", modelName: "shop" };
const names = (name: string, dictionary: string[]): AttributeColumn => ({
  ...{ name, type: "Category", dictionary },
  start: Uint32Array.from({ length: SHOP_ITEMS + 1 }, (_, row) => row),
  codes: Uint32Array.from({ length: SHOP_ITEMS }, (_, row) => row % dictionary.length),
});
const dataset = {
  ...shopDataset(),
  itemAttributes: [
    names("category", ["Running", "Tea"]),
    names("brand", ["Alderly", "Dunmore", "Galtry", "Juniper"]),
    names("style", ["classic", "light"]),
    { name: "price", type: "Numerical" as const, values: new Float64Array(SHOP_ITEMS).fill(20) },
  ],
};

let edge: EdgeWorld;
let older = "";
beforeAll(async () => {
  edge = await startEdge();
  older = (await edge.publish({ dataset })).version;
  await edge.publish({ dataset });
});
afterAll(() => edge.stop());

/** Lets shoppers come until `isEnough`. Returns what was printed. */
async function simulated(isEnough: (printed: string) => boolean, apiKey?: string): Promise<string> {
  const stop = new AbortController();
  let printed = "";
  const key = apiKey ?? (await edge.issueKey()).key;
  const service = { edgeUrl: edge.url, apiKey: key, signal: stop.signal };
  const print = (line: string) => {
    printed += `${line}\n`;
  };
  const running = simulate(service, {
    model: "shop",
    print,
    seed: 7,
    shoppersPerSecond: 100,
    thinkMs: 1,
    lineEvery: 20,
  });
  await vi.waitFor(() => expect(isEnough(printed)).toBe(true), { timeout: 60_000 });
  stop.abort();
  await running;
  return printed;
}

test("shoppers get lists of both arms, and send what these led to with the name of the list", async () => {
  const arms = [
    { name: "older", share: 0.5, version: older },
    { name: "live", share: 0.5 },
  ];
  const experiment = { name: "versions", arms, goal: { type: "purchase", within_hours: 24 } };
  const start = { nowMs: Date.now(), salt: "salt", edgeMemoryBytes: 1e9, exists: async () => true };
  await putExperiment(edge.store, MODEL, experiment, start);
  const printed = await simulated((text) =>
    /versions, running: older [\d.]+ % of [1-9]\d+, live [\d.]+ % of [1-9]\d+/.test(text),
  );
  expect(printed).toMatch(/^Simulated: 20 shoppers, \d+ lists, \d+ events, \d+ purchases\.$/m);

  const { newest_events } = (await (await edge.call("/v0/live")).json()) as {
    newest_events: { user_id: string; type: string; rank_id?: string | null }[];
  };
  expect(newest_events.every(({ user_id }) => user_id.startsWith("shopper-7-"))).toBe(true);
  expect(newest_events.filter(({ rank_id }) => rank_id?.includes(".")).length).toBeGreaterThan(0);
});

test("calls that fail are counted, and shoppers go on coming", async () => {
  const { key } = await edge.issueKey({ scopes: ["events"] });
  const printed = await simulated((text) => text.includes("Simulated: 40 shoppers"), key);
  expect(printed).toMatch(
    /Simulated: 40 shoppers, 0 lists, 0 events, 0 purchases, \d+ failed calls: The service answered 403/,
  );
});
