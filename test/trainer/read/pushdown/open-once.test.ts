import { expect, test } from "vitest";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import { openOnce } from "../../../../trainer/read/pushdown/open-once.ts";

test("each configuration is opened once, and closed at the end", async () => {
  const log: string[] = [];
  const { open, close } = openOnce(async ({ type }) => {
    log.push(`open ${type}`);
    const end = async () => {
      log.push(`close ${type}`);
      if (type === "B") throw new Error("it will not");
    };
    return { close: end, inspect: async () => ({ from: type }) } as unknown as Connector;
  });
  const [a, b] = [{ type: "A" }, { type: "B" }];
  const first = await open(a, undefined as never);
  await first.close();
  const again = await open(a, undefined as never);
  await open(b, undefined as never);
  expect(await again.inspect("", undefined as never)).toEqual({ from: "A" });
  expect(log).toEqual(["open A", "open B"]);
  await close();
  expect(log).toEqual(["open A", "open B", "close A", "close B"]);
});

test("a connector that was handed over is opened again for the next reading", async () => {
  const log: string[] = [];
  const { open, handOver, close } = openOnce(async () => {
    const name = log.push("open");
    return { close: async () => void log.push(`close ${name}`) } as unknown as Connector;
  });
  const config = { type: "A" };
  await open(config, undefined as never);
  await (await handOver(config, undefined as never)).close();
  await open(config, undefined as never);
  await close();
  expect(log).toEqual(["open", "close 1", "open", "close 3"]);
});
