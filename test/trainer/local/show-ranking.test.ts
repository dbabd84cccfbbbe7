import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { ServiceAnswer, ServiceClient } from "../../../trainer/local/service-client.ts";
import { callRank, curlLine, listText, rankExamples } from "../../../trainer/local/show-ranking.ts";

const clientOf = (...answers: (readonly [number, unknown])[]): ServiceClient & { calls: unknown[] } => {
  const calls: unknown[] = [];
  return {
    edgeUrl: "http://127.0.0.1:8787",
    apiKey: "rk_key",
    calls,
    async call(...call): Promise<ServiceAnswer> {
      const [status, body] = answers[Math.min(calls.push(call), answers.length) - 1]!;
      return { status, body, headers: new Headers({ "x-rank-strategy": "personalized" }) };
    },
  };
};
const examples = rankExamples(
  "films",
  { id: "o'hara & co", latest: ["1", "2", "3", "4"] },
  { genre: { $in: ["Film-Noir"] } },
);
const now = async () => {};

test("there is an example for a known user, a session and a filter", () => {
  expect(examples.known.path).toBe("/v0/models/films/rank?user_id=o'hara%20%26%20co&limit=10");
  expect(examples.session.body).toEqual({
    interactions: [{ item_id: "2" }, { item_id: "3" }, { item_id: "4" }],
    limit: 5,
  });
  expect(examples.filtered.body).toMatchObject({
    user_id: "o'hara & co",
    retrieval: { genre: { $in: ["Film-Noir"] } },
  });
});

test("a shell reads the curl line correctly whatever the id contains", () => {
  for (const example of Object.values(examples)) {
    const line = curlLine(clientOf([200, []]), example);
    const words = execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" })
      .split("\0")
      .slice(0, -1);
    expect(words.slice(0, 3)).toEqual(["curl", "-s", `http://127.0.0.1:8787${example.path}`]);
    expect(words).toContain("x-api-key: rk_key");
    if (example.body) expect(JSON.parse(words.at(-1)!)).toEqual(example.body);
  }
});

test("a call is retried while the edge does not serve the version yet", async () => {
  const client = clientOf([404, {}], [409, {}], [200, [7, "8"]]);
  expect(await callRank(client, examples.known, now)).toMatchObject({ ids: ["7", "8"], strategy: "personalized" });
  expect(client.calls).toHaveLength(3);
});

test("a refused call is reported with the service's message and not retried", async () => {
  const client = clientOf([400, { detail: "There is no attribute genre" }]);
  await expect(callRank(client, examples.filtered, now)).rejects.toThrow("answered 400: There is no attribute genre");
  expect(client.calls).toHaveLength(1);
});

test("lists show ranks, ids and titles", () => {
  expect(listText(["7", "11"], new Map([["7", "Seven"]]))).toBe("   1  7   Seven\n   2  11");
  expect(listText([], new Map())).toContain("nothing left");
});
