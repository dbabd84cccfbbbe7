import type { LocalSource } from "./local-source.ts";
import { callService, expectStatus, type Service } from "./service-client.ts";
import { curlLine, rank, titlesOf } from "./show-rankings.ts";

type Output = { readonly visitor: string; readonly print: (line: string) => void };

const SHOWN = 5;

/** Shows how an event changes the next list: posts what a new visitor buys, and prints the lists before and after. */
export async function showEvent(service: Service, source: LocalSource, { visitor, print }: Output): Promise<void> {
  const path = `/v0/models/${source.body.model_name}/rank?user_id=${visitor}&limit=${SHOWN}`;
  const named = async (ids: readonly string[]) =>
    (await titlesOf(source, ids)).map(({ item, title }) => title || item).join(", ");
  const before = await rank(service, { path });
  const [bought] = before.ids;
  if (bought === undefined) return;
  const event = { path: "/v0/events", body: { events: [{ user_id: visitor, item_id: bought, type: "purchase" }] } };
  expectStatus(await callService(service, "POST", event.path, event.body), 200);
  const after = await rank(service, { path });
  const lines = [
    `The new visitor ${visitor} gets popular items: ${await named(before.ids)}.`,
    `An event says that the visitor has bought the first of them:\n\n${curlLine(service, event)}\n`,
    `The next list is for this visitor (${after.strategy}): ${await named(after.ids)}.`,
  ];
  print(`\n${lines.join("\n")}`);
}
