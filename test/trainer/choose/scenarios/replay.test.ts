import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { FormatError } from "../../../../shared/assert.ts";
import { encodePacked } from "../../../../trainer/choose/report/packed-value.ts";
import { measureScenario } from "../../../../trainer/choose/scenarios/measure-scenario.ts";
import { decodeReplay } from "../../../../trainer/choose/scenarios/replay.ts";
import { smallReplay } from "../../../fixtures/small-replay.ts";

const { signal } = new AbortController();
const { replay, validation, historyMax } = smallReplay();

test("it has every case with its newest history, and the items with their attributes", () => {
  const { cases, names, served } = decodeReplay(replay);
  const originals = Array.from(validation.positions, (at) => validation.split.cases.caseAt(at));
  expect(cases.count).toBe(originals.length);
  const textOf = (one: (typeof originals)[number]) => JSON.stringify({ ...one, seen: [...one.seen] });
  const expected = originals.map((one) =>
    textOf({ ...one, items: one.items.slice(-historyMax), times: one.times.slice(-historyMax) }),
  );
  const found = Array.from({ length: cases.count }, (_, at) => textOf(cases.caseAt(at)));
  expect(found).not.toEqual(expected); // in random order, so that the first ones are a sample
  expect(found.sort()).toEqual(expected.sort());
  expect([...names.attributes!.columns.keys()]).toEqual(["shelf"]);
  expect(served.historyMax).toBe(historyMax);
});

test("when the time is up, the figures are of the lists that were made by then", async () => {
  let asked = 0;
  const isTimeUp = () => asked++ > 20;
  const { lists, users, without } = await measureScenario(decodeReplay(replay), { limit: 5 }, { signal, isTimeUp });
  expect(lists).toBeGreaterThan(5);
  expect(lists).toBeLessThan(validation.positions.length);
  expect(users).toBeLessThanOrEqual(lists);
  expect(without["ndcg@5"]!.value).toBeGreaterThan(0);
});

test("a file that is damaged anywhere is refused or gives figures, and nothing else happens", async () => {
  const plain = gunzipSync(replay);
  let refused = 0;
  for (let at = 0; at < 60; at++) {
    const damaged = Uint8Array.from(plain);
    const place = Math.floor((at * plain.length) / 60);
    damaged[place]! ^= 0xff;
    try {
      decodeReplay(gzipSync(damaged));
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0);
  expect(() => decodeReplay(encodePacked("evaluation-replay", { format: 2 }))).toThrow("cannot be read");
});
