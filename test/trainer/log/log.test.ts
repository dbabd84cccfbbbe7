import { expect, test } from "vitest";
import { formatApiKey } from "../../../shared/api-key.ts";
import { errorForLog, type LogEntry, lineLog } from "../../../trainer/log/log.ts";

const lineOf = (entry: LogEntry, secrets: string[] = []) => {
  let line = "";
  lineLog(
    (text) => (line += text),
    () => 0,
    secrets,
  )(entry);
  return line;
};

test("an entry is one line of JSON with its time", () => {
  const line = lineOf({ event: "started", level: "info", text: "two\nlines" });
  expect(line.indexOf("\n")).toBe(line.length - 1);
  expect(JSON.parse(line)).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    event: "started",
    level: "info",
    text: "two\nlines",
  });
});

test("a secret is removed at any depth, and long texts keep their end", () => {
  expect(lineOf({ event: "x", level: "info", deep: { in: ["a hunter2 b"] } }, ["hunter2"])).not.toContain("hunter2");
  const line = lineOf({ event: "x", level: "info", output: `${"y".repeat(100_000)}the end` });
  expect(line.length).toBeLessThan(9000);
  expect(line).toContain("the end");
});

test("an API key is removed wherever a caller has put it, also where a long text is shortened", () => {
  const key = formatApiKey(new Uint8Array(64).map((_, i) => i));
  const line = lineOf({ event: "request", level: "info", request_id: key, path: `/v0/models/${key}`, deep: [{ key }] });
  expect(line).not.toContain(key.slice(3));
  expect(JSON.parse(line)).toMatchObject({ request_id: "rk_…", path: "/v0/models/rk_…", deep: [{ key: "rk_…" }] });
  for (let after = 8192 - key.length; after <= 8192; after++)
    expect(lineOf({ event: "x", level: "info", output: key + "y ".repeat(8192).slice(0, after) })).not.toContain(
      key.slice(-6),
    );
});

test("an error is logged with its causes", () => {
  const text = errorForLog(new Error("outer", { cause: new Error("inner") }));
  expect(text).toContain("outer");
  expect(text).toContain("caused by Error: inner");
  expect(errorForLog("thrown text")).toBe("thrown text");
});
