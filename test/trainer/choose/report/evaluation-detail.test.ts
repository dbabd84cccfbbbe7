import { serialize } from "node:v8";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { userHash } from "../../../../shared/hash.ts";
import type { Evaluation } from "../../../../trainer/choose/evaluate/evaluate.ts";
import { answerQuestion } from "../../../../trainer/choose/report/answer-question.ts";
import {
  decodeDetail,
  encodeDetail,
  evaluationDetail,
  hashOfUser,
} from "../../../../trainer/choose/report/evaluation-detail.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { SMALL_DETAIL as detail } from "../../../fixtures/small-detail.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

describe("as a file", () => {
  test("comes back as it was", () => expect(decodeDetail(encodeDetail(detail))).toEqual(detail));
  test.each([
    ["not a file of this trainer", new Uint8Array([1, 2, 3])],
    ["not a file of this trainer", gzipSync(serialize(detail))],
    ["must be pairs", encodeDetail({ ...detail, users: Uint32Array.of(1) as never })],
    ["its arrays do not fit each other", encodeDetail({ ...detail, chosen: Int32Array.of(0) })],
    ["its arrays do not fit each other", encodeDetail({ ...detail, userColumns: detail.itemColumns })],
    ["Invalid input", encodeDetail({ ...detail, format: 1 as never })],
  ])("%s: refused", (reason, bytes) => expect(() => decodeDetail(bytes)).toThrow(reason));
});

test("a user's name in the file is the salted hash that user records have", async () => {
  const { high, low } = await userHash(detail.salt, "ann");
  expect(hashOfUser(detail.salt, "ann")).toBe((BigInt(high) << 32n) | BigInt(low));
});

describe("made of a selection", () => {
  const text = {
    name: "about",
    type: "Text",
    dictionary: ["x"],
    start: new Uint32Array(21),
    codes: new Uint32Array(0),
  };
  const even = Uint8Array.from({ length: 20 }, (_, user) => (user % 2 === 0 ? 1 : 0));
  const shop = {
    ...twoTastes({ users: 20, items: 10, perUser: 4 }),
    userAttributes: [text as never, { name: "even", type: "Boolean", values: even } as const],
  };
  const validation = validationOf(shop, planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false }), {
    halfLifeDays: 0,
    seed: 1,
    secondsMax: 1000,
  });
  const { length } = validation.positions;
  const evaluation: Evaluation = {
    positions: validation.positions,
    owners: validation.positions,
    cutOffs: [2],
    listLength: 2,
    lists: Int32Array.from({ length: length * 2 }, (_, i) => i % 10),
    values: new Map(),
  };
  const made = evaluationDetail(validation, { chosen: evaluation, popularity: evaluation }, "salt");

  test("it holds the lists and targets of every user measured, by the ids of the data", () => {
    expect(decodeDetail(encodeDetail(made))).toEqual(made);
    expect(answerQuestion(made, { user_ids: ["user-3", "user-4"] })).toMatchObject({ users: 2, not_measured: [] });
    expect(made.relevant.length).toBe(length);
  });
  test("and their attributes but for texts", () => {
    expect(made.userColumns).toEqual([{ name: "even", type: "Boolean", values: even }]);
  });
  test("no user's id stands in it", () => {
    expect(gunzipSync(encodeDetail(made)).includes("user-3")).toBe(false);
  });
});
