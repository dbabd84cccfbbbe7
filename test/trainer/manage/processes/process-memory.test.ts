import { expect, test } from "vitest";
import { residentMb } from "../../../../trainer/manage/processes/process-memory.ts";

test("this process has the memory that Node says it has", async () => {
  const ours = (await residentMb(process.pid))!;
  expect(Math.abs(ours - process.memoryUsage().rss / 2 ** 20)).toBeLessThan(50);
});

test("a process that is gone has none", async () => expect(await residentMb(2 ** 30)).toBe(undefined));
