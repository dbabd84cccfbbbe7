import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { startEdge } from "../fixtures/edge-world.ts";
import { deployed } from "./deployed.ts";
import { faultsOf } from "./deployed-call.ts";

async function judge(flags: Readonly<Record<string, string>>) {
  const [lines, failures]: [string[], string[]] = [[], []];
  const figures = await deployed({
    say: (line) => void lines.push(line),
    fail: (reason) => void failures.push(reason),
    flags: new Map(Object.entries({ calls: "24", ...flags })),
  });
  const figureOf = (name: string) => figures.find((figure) => figure.name === name)?.value;
  return { figureOf, text: lines.join("\n"), failures };
}

test("an edge that ranks has latencies, its version, and no faults", async () => {
  const edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 5, KEY_CACHE_SECONDS: 30 } });
  try {
    const { version } = await edge.publish();
    const { key } = await edge.issueKey();
    const { figureOf, text, failures } = await judge({ edge: edge.workerUrl, key, model: "shop", users: "ann,bob" });
    expect(failures).toEqual([]);
    expect([figureOf("deployed.versions"), figureOf("deployed.errors")]).toEqual([1, 0]);
    expect(figureOf("deployed.unknown.cold.calls")).toBeGreaterThan(0);
    expect(figureOf("deployed.unknown.warm.p50")).toBeGreaterThan(0);
    expect(text).toContain(`version ${version}: 24 calls`);
  } finally {
    await edge.stop();
  }
});

test("answers that are wrong or missing fail the bench, by data centre", async () => {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    const status = ++count % 4 === 0 ? 500 : 200;
    response.writeHead(status, { "content-type": "application/json", "cf-ray": "8a-FRA" }).end('["a","a"]');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const edge = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { figureOf, failures } = await judge({ edge, key: "k", model: "shop" });
  server.close();
  expect(failures).toEqual(expect.arrayContaining(["a list has an item twice", "6 of 24 calls failed"]));
  expect([figureOf("deployed.FRA.warm.calls"), figureOf("deployed.errors")]).toEqual([18, 6]);
  expect((await judge({ edge, key: "k", model: "shop" })).failures.join()).toContain("no answer");
  expect((await judge({ edge })).failures).toEqual(["--key and --model are required, too"]);
});

test("each fault of a list is named", () => {
  const sent = { user_id: undefined, limit: 2, interactions: [{ item_id: 7 }] };
  expect(faultsOf(sent, 200, [1, 2])).toEqual([]);
  expect(faultsOf(sent, 200, {})).toEqual(["an answer is no list"]);
  expect(faultsOf(sent, 200, [1, 2, 3])).toEqual(["a list has 3 items, the limit is 2"]);
  expect(faultsOf(sent, 200, [1, 1])).toEqual(["a list has an item twice"]);
  expect(faultsOf(sent, 200, [7])).toEqual(["a list has an item of the session"]);
  expect(faultsOf(sent, 503, {})).toEqual([]);
});
