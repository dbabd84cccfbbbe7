import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemId, ItemIndex, UserId } from "../../shared/ids.ts";
import { historyOf, type RankRequest, rank } from "../../shared/rank.ts";
import type { RepeatIntervals } from "../../shared/repeat-intervals.ts";
import type { History, Snapshot, UserRecord } from "../../shared/snapshot.ts";

const DAY = 86_400;
const NOW = 1000 * DAY;
const indices = (...items: number[]) => items as ItemIndex[];

/**
 * Four items a, b, c, d. Ann chose a, ten days ago, and has also seen b. Eve has seen d and chose nothing. Scores rise
 * from a to d, so that the model's order is the reverse of popularity.
 */
function shop() {
  const scored: History[] = [];
  const records: Record<string, UserRecord> = {
    ann: { items: indices(0), times: [NOW - 10 * DAY], hasSeen: (item) => item < 2 },
    eve: { items: [], times: [], hasSeen: (item) => item === 3 },
  };
  const snapshot: Snapshot = {
    version: "v1",
    itemCount: 4,
    itemIdType: "string",
    historyMax: 3,
    indexOf: (id) => ({ a: 0, b: 1, c: 2, d: 3 })[id as string] as ItemIndex | undefined,
    idAt: (item) => "abcd"[item] as ItemId,
    userRecord: async (user) => records[user],
    score: async (history) => {
      scored.push(history);
      return Float32Array.of(1, 2, 3, 4);
    },
    compileFilter: () => (item) => item % 2 === 1,
  };
  return { snapshot, scored };
}

type Ask = { user?: string; session?: string; limit?: number; onlyOdd?: boolean; excludeSeen?: boolean };

async function ask(
  { user, session = "", limit = 10, onlyOdd = false, excludeSeen = true }: Ask,
  sessions?: Snapshot["sessions"],
) {
  const { snapshot: plain, scored } = shop();
  const snapshot = { ...plain, sessions };
  const request: RankRequest = {
    userId: user as UserId | undefined,
    limit,
    session: [...session] as ItemId[],
    filter: onlyOdd ? { kind: "and", of: [] } : undefined,
    excludeSeen,
    nowSeconds: NOW,
  };
  const answer = await rank(request, snapshot);
  const list = answer.items.map((item) => snapshot.idAt(item)).join("");
  return { list, strategy: answer.strategy, ignored: answer.ignoredInteractions, scored };
}

describe("lists by kind of request", () => {
  test.each<[string, Ask, string, string, number]>([
    ["no user: popularity, which is catalog order", {}, "abcd", "popular", 0],
    ["an unknown user: the same", { user: "bob" }, "abcd", "popular", 0],
    ["ann: by score, without what she has seen", { user: "ann" }, "dc", "personalized", 0],
    ["ann, seen items too", { user: "ann", excludeSeen: false }, "dcba", "personalized", 0],
    ["eve, who chose nothing: popularity without what she has seen", { user: "eve" }, "abc", "popular", 0],
    ["a session: by score, without its own items", { session: "b" }, "dca", "session", 0],
    ["a session, even when seen items are wanted", { session: "b", excludeSeen: false }, "dca", "session", 0],
    ["ann and a session", { user: "ann", session: "d" }, "c", "personalized", 0],
    ["eve and a session", { user: "eve", session: "a" }, "cb", "session", 0],
    ["ids unknown to the model are counted", { session: "bzz" }, "dca", "session", 2],
    ["a session of unknown ids only: popularity", { session: "zz" }, "abcd", "popular", 2],
    ["the limit cuts", { limit: 2 }, "ab", "popular", 0],
    ["a filter narrows before the limit cuts", { limit: 2, onlyOdd: true }, "bd", "popular", 0],
    ["a filter and seen together", { user: "ann", onlyOdd: true }, "d", "personalized", 0],
    ["an empty list is a normal answer", { user: "ann", session: "cd" }, "", "personalized", 0],
  ])("%s", async (_, asked, list, strategy, ignored) => {
    const answer = await ask(asked);
    expect(answer).toMatchObject({ list, strategy, ignored });
  });
});

describe("what was chosen before, where it is known how likely it is chosen again", () => {
  // Ann's only item is chosen again with odds of e^intercept against all new ones, of which the first takes a half.
  const repeats = (intercept: number): RepeatIntervals => ({
    ...{ itemCount: 4, daysOf: () => 1, rateOf: () => 1, weights: [1, 0, 0, 0, 0, 0, 0] },
    odds: { intercept, slope: 0, range: [-9, 9], places: Array.from({ length: 9 }, (_, range) => 0.5 ** (range + 1)) },
  });
  const askAnn = async (intercept: number, more: Partial<RankRequest> = {}, known: Partial<Snapshot> = {}) => {
    const request = { userId: "ann" as UserId, limit: 10, session: [], filter: undefined, excludeSeen: false };
    const snapshot = { ...shop().snapshot, repeatIntervals: repeats(intercept), ...known };
    const answer = await rank({ ...request, nowSeconds: NOW, ...more }, snapshot);
    return { ...answer, list: answer.items.map((item) => snapshot.idAt(item)).join("") };
  };
  test.each<[string, string, number, Partial<RankRequest>, Partial<Snapshot>]>([
    ["a likely one is first", "adcb", 2, {}, {}],
    ["one that is less likely than the first new item is behind it", "dacb", -1, {}, {}],
    ["an unlikely one is last", "dcba", -9, {}, {}],
    ["without seen items, nothing changes", "dc", 2, { excludeSeen: true }, {}],
    [
      "among given items",
      "ca",
      -2,
      { itemIds: ["a", "c"] as ItemId[] },
      { score: async () => Float32Array.of(9, 1, 2, 3) },
    ],
    ["a session's items stay out", "cba", -9, { session: ["d"] as ItemId[] }, {}],
    ["in a version without odds, by score", "dcba", 2, {}, { repeatIntervals: { ...repeats(2), odds: undefined } }],
    ["for sessions, by score", "dcba", 2, {}, { sessions: { repeats: true } }],
    ["popular items have none", "abcd", 2, { strategy: "popular" }, {}],
  ])("%s", async (_, list, intercept, more, known) => {
    expect((await askAnn(intercept, more, known)).list).toBe(list);
  });

  test("its reason is itself, and with a model that ignores users the list is personal all the same", async () => {
    const answer = await askAnn(2, { wanted: { scores: false, reasons: true } }, { personalizes: false });
    expect(answer.strategy).toBe("personalized");
    expect(answer.reasons).toEqual([[{ item: 0, share: 1 }], [], [], []]);
  });
});

describe("a model of sessions", () => {
  const [once, again] = [{ repeats: false }, { repeats: true }];
  test.each<[string, Ask, typeof once, string, string]>([
    ["a session: by score, without its own items", { session: "b" }, once, "dca", "session"],
    ["a session whose items may come again", { session: "bd" }, again, "dcba", "session"],
    [
      "ann and a session: without what she has seen, also where items may come again",
      { user: "ann", session: "bd" },
      again,
      "dc",
      "session",
    ],
    ["the same, seen items too", { user: "ann", session: "bd", excludeSeen: false }, again, "dcba", "session"],
    ["the same, where items come once", { user: "ann", session: "bd", excludeSeen: false }, once, "ca", "session"],
    ["ann without a session: by her history", { user: "ann" }, again, "dc", "personalized"],
    ["ann and a session of unknown ids: by her history", { user: "ann", session: "z" }, again, "dc", "personalized"],
  ])("%s", async (_, asked, sessions, list, strategy) => {
    expect(await ask(asked, sessions)).toMatchObject({ list, strategy });
  });

  test("is given the session alone, without a stored history", async () => {
    const { scored } = await ask({ user: "ann", session: "cd" }, once);
    expect(scored).toEqual([{ items: [2, 3], agesDays: [0, 0] }]);
  });
});

test("a model that ignores the user gives no reasons", async () => {
  const { snapshot } = shop();
  const request = {
    userId: "ann" as UserId,
    limit: 2,
    session: [],
    filter: undefined,
    excludeSeen: true,
    nowSeconds: NOW,
  };
  const wanted = { scores: false, reasons: true };
  expect((await rank({ ...request, wanted }, snapshot)).reasons).toEqual([
    [{ item: 0, share: 1 }],
    [{ item: 0, share: 1 }],
  ]);
  expect((await rank({ ...request, wanted }, { ...snapshot, personalizes: false })).reasons).toEqual([[], []]);
});

test("a request without a user reads no record", async () => {
  const { snapshot } = shop();
  const userRecord = () => Promise.reject(new Error("asked for a record"));
  const request = {
    userId: undefined,
    limit: 1,
    session: [],
    filter: undefined,
    excludeSeen: true,
    nowSeconds: NOW,
  };
  expect((await rank(request, { ...snapshot, userRecord })).items).toEqual([0]);
});

test("the model receives the stored history, then the session, with ages in days", async () => {
  const { scored } = await ask({ user: "ann", session: "cd" });
  expect(scored).toEqual([{ items: [0, 2, 3], agesDays: [10, 0, 0] }]);
});

test("the model is not called without a history", async () => {
  expect((await ask({ user: "eve" })).scored).toEqual([]);
});

test("a filter that does not fit is refused before any user record is read", async () => {
  const { snapshot } = shop();
  let read = 0;
  const refusing: Snapshot = {
    ...snapshot,
    compileFilter: () => {
      throw new Error("unknown attribute");
    },
    userRecord: async () => {
      read++;
      return undefined;
    },
  };
  const request = { userId: "ann" as UserId, limit: 1, session: [], excludeSeen: true, nowSeconds: NOW };
  await expect(rank({ ...request, filter: { kind: "and", of: [] } }, refusing)).rejects.toThrow("unknown attribute");
  expect(read).toBe(0);
});

test("a failed read of the user record fails the call instead of returning seen items", async () => {
  const { snapshot } = shop();
  const broken = { ...snapshot, userRecord: () => Promise.reject(new Error("unreadable")) };
  const request = { userId: "ann" as UserId, limit: 1, session: [], excludeSeen: true, nowSeconds: NOW };
  await expect(rank({ ...request, filter: undefined }, broken)).rejects.toThrow("unreadable");
});

test("the history is the newest entries of stored history and session, oldest first", () =>
  fc.assert(
    fc.property(fc.array(fc.nat(99)), fc.array(fc.nat(99)), fc.integer({ min: 1, max: 8 }), (stored, session, max) => {
      const times = stored.map((_, i) => NOW - (stored.length - i) * DAY);
      const record = { items: indices(...stored), times, hasSeen: () => true };
      const history = historyOf(record, indices(...session), { nowSeconds: NOW, historyMax: max });
      const all = [...stored, ...session];
      expect(history.items).toEqual(all.filter((_, i) => i >= all.length - max));
      expect(history.agesDays).toHaveLength(history.items.length);
      expect(history.agesDays.every((age, i) => age >= 0 && (i === 0 || age <= history.agesDays[i - 1]!))).toBe(true);
    }),
  ));

test("an interaction from the future has age 0", () => {
  const record = { items: indices(1), times: [NOW + 5], hasSeen: () => true };
  expect(historyOf(record, [], { nowSeconds: NOW, historyMax: 3 }).agesDays).toEqual([0]);
});

test("the list of a model that ignores the user is not called personal", async () => {
  const { snapshot } = shop();
  const request = {
    userId: "ann" as UserId,
    limit: 1,
    session: [],
    excludeSeen: true,
    nowSeconds: NOW,
    filter: undefined,
  };
  expect((await rank(request, snapshot)).strategy).toBe("personalized");
  expect((await rank(request, { ...snapshot, personalizes: false })).strategy).toBe("popular");
});

describe("users without a history but with known values", () => {
  const zoe: UserRecord = { items: [], times: [], values: [2, 5], hasSeen: (item) => item === 0 };
  const asked: (readonly number[])[] = [];
  const scoreByValues = (values: readonly number[]) => {
    asked.push(values);
    return Float32Array.of(3, 1, 4, 1);
  };
  const answerTo = async (session: string, more: Partial<Snapshot>, record: UserRecord = zoe) => {
    const { snapshot } = shop();
    const request: RankRequest = {
      userId: "zoe" as UserId,
      limit: 10,
      session: [...session] as ItemId[],
      filter: undefined,
      excludeSeen: true,
      nowSeconds: NOW,
    };
    const { items, strategy } = await rank(request, { ...snapshot, userRecord: async () => record, ...more });
    return [items.map((item) => snapshot.idAt(item)).join(""), strategy];
  };
  const { values: _, ...nameless } = zoe;

  test.each<[string, string, Partial<Snapshot>, UserRecord, [string, string]]>([
    [
      "are ranked for by them, equal scores in catalog order, nothing seen",
      "",
      { scoreByValues },
      zoe,
      ["cbd", "personalized"],
    ],
    [
      "are ranked by them even if the model ignores the user",
      "",
      { scoreByValues, personalizes: false },
      zoe,
      ["cbd", "personalized"],
    ],
    ["by popularity if the version has no user values", "", {}, zoe, ["bcd", "popular"]],
    ["by popularity without values", "", { scoreByValues }, { ...zoe, values: [] }, ["bcd", "popular"]],
    ["by popularity with a record from before values", "", { scoreByValues }, nameless, ["bcd", "popular"]],
    ["by the session as soon as there is one", "b", { scoreByValues }, zoe, ["dc", "session"]],
    [
      "by the history as soon as there is one",
      "",
      { scoreByValues },
      { ...zoe, items: indices(0), times: [NOW] },
      ["dcb", "personalized"],
    ],
  ])("%s", async (_, session, more, record, expected) => {
    expect(await answerTo(session, more, record)).toEqual(expected);
  });

  test("the scores are computed from the user's values", async () => {
    asked.length = 0;
    await answerTo("", { scoreByValues });
    expect(asked).toEqual([[2, 5]]);
  });
});
