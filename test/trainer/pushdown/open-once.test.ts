import { expect, test } from "vitest";
import type { Connector } from "../../../trainer/connectors/connector.ts";
import { openOnce } from "../../../trainer/pushdown/open-once.ts";

test("each configuration is opened once, and closed when all are done", async () => {
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
