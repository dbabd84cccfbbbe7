import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { LocalSource } from "../../../trainer/local/local-source.ts";
import { showEvent } from "../../../trainer/local/show-event.ts";

const SOURCE = { body: { model_name: "shop" }, items: null } as LocalSource;

/** Shows an event at a service that answers with these lists, and returns what was called and printed. */
async function shown(...lists: string[][]) {
  const calls: string[] = [];
  const printed: string[] = [];
  const server = createServer(async (request, response) => {
    calls.push(`${request.method} ${request.url} ${await text(request)}`.trim());
    const answer = request.method === "POST" ? { accepted: 1, duplicates: 0 } : lists.shift();
    response.writeHead(200, { "x-rank-strategy": "personalized" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const edgeUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  const output = { visitor: "visitor-1", print: (line: string) => void printed.push(line) };
  await showEvent({ edgeUrl, apiKey: "rk_key", signal }, SOURCE, output);
  server.close();
  return { calls, printed };
}

test("the list before, the event with its curl line, and the list after are printed", async () => {
  const { calls, printed } = await shown(["i1", "i2"], ["i3"]);
  const rank = "GET /v0/models/shop/rank?user_id=visitor-1&limit=5";
  const event = '{"events":[{"user_id":"visitor-1","item_id":"i1","type":"purchase"}]}';
  expect(calls).toEqual([rank, `POST /v0/events ${event}`, rank]);
  expect(printed.join("\n")).toMatch(/popular items: i1, i2\.\n[\s\S]*\ncurl -s .*\n[\s\S]*\(personalized\): i3\.$/);
});

test("nothing is posted where no item is left", async () => {
  expect((await shown([])).calls).toHaveLength(1);
});
