/** Every event is in a user's history exactly once, whatever is published, exported, repeated, rolled back or lost in a crash. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { NewEvent } from "../../../edge/events/shard-rpc.ts";
import type { StoredEvent } from "../../../shared/events/event.ts";
import { learntMarksKey } from "../../../shared/events/event-store.ts";
import { type LiveEvent, withLiveEvents } from "../../../shared/events/live-events.ts";
import type { ItemId, ItemIndex, UserId } from "../../../shared/ids.ts";
import type { UserRecord } from "../../../shared/snapshot.ts";
import { PLACE, type PutFault, startShardWorld } from "../../fixtures/shard-world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.UTC(2026, 10, 24);
const ITEMS = 4;
const MEANINGS = {
  view: { label: true, seen: true },
  impression: { label: false, seen: true },
  search: { label: false, seen: false },
};
const USERS = ["ann", "bob"] as const;

type World = ReturnType<typeof startShardWorld>;
type Sent = { readonly user: UserId; readonly event: NewEvent };
/** What a training has read, and up to which number. */
type Version = { readonly learnt: number; readonly events: readonly StoredEvent[] };

let world: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  vi.spyOn(console, "log").mockReturnValue(); // failed exports
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const indexOf = (id: ItemId) => Number(id.slice(1)) as ItemIndex;
const itemOf = (item: number) => `i${item}` as ItemId;

/** A record as a version stores it. */
function recordOf(events: readonly Pick<StoredEvent, "item_id" | "type" | "created_at">[]): UserRecord {
  const positive = events.filter(({ type }) => type === "view").sort((a, b) => a.created_at - b.created_at);
  const seen = new Set(events.filter(({ type }) => type !== "search").map(({ item_id }) => indexOf(item_id)));
  return {
    items: positive.map(({ item_id }) => indexOf(item_id)),
    times: positive.map(({ created_at }) => created_at),
    hasSeen: (item) => seen.has(item),
  };
}
const shown = (record: UserRecord | undefined) => ({
  history: record?.items.map((item, i) => [item, record.times[i]]) ?? [],
  seen: Array.from({ length: ITEMS }, (_, item) => record?.hasSeen(item as ItemIndex) ?? false),
});

type Step =
  | {
      readonly do: "post";
      readonly events: readonly { user: number; item: number; type: keyof typeof MEANINGS; ago: number }[];
    }
  | { readonly do: "repeat"; readonly which: number }
  | { readonly do: "alarm"; readonly fault: PutFault }
  | { readonly do: "train" | "forget versions" | "restart" | "lose storage" }
  | { readonly do: "activate"; readonly which: number }
  | { readonly do: "wait"; readonly hours: number }
  | { readonly do: "erase"; readonly user: number };

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("post" as const),
        events: fc.array(
          fc.record({
            user: fc.nat(USERS.length - 1),
            item: fc.nat(ITEMS - 1),
            type: fc.constantFrom("view", "impression", "search"),
            ago: fc.nat(3),
          }),
          { minLength: 1, maxLength: 5 },
        ),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("repeat" as const), which: fc.nat() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("alarm" as const),
        fault: fc.constantFrom<PutFault>("none", "none", "error", "unanswered", "crash before", "crash after"),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("train", "forget versions", "restart") }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("activate" as const), which: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("wait" as const), hours: fc.integer({ min: -12, max: 240 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("erase" as const), user: fc.nat(USERS.length - 1) }) },
  ),
  { minLength: 5, maxLength: 60 },
);

const posted = (user: number): Step => ({ do: "post", events: [{ user, item: 1, type: "view", ago: 0 }] });
/** A crash leaves a file whose only user is then erased. The next event must get another number. */
const NUMBER_USED_TWICE: Step[] = [
  posted(0),
  { do: "alarm", fault: "crash after" },
  { do: "train" },
  { do: "erase", user: 0 },
  posted(1),
];

/** Does steps to a shard, and keeps a plain list of what was accepted. */
function startScript() {
  const plain: Sent[] = [];
  const posts: { readonly sent: readonly Sent[]; readonly atMs: number }[] = [];
  const erased = new Set<UserId>();
  let versions: Version[] = [{ learnt: 0, events: [] }];
  let live = versions[0]!;
  let sentCount = 0;

  const append = (sent: readonly Sent[]) => {
    const batch = [...Map.groupBy(sent, ({ user }) => user)].map(([user, own]) => ({
      user,
      events: own.map(({ event }) => event),
    }));
    return world.shard().append(PLACE, batch);
  };
  const train = () => {
    const events: StoredEvent[] = [];
    let mark = 0;
    for (const file of world.files()) {
      expect(file.first).toBe(mark + 1); // without gaps, and no event in two files
      mark = file.last;
      events.push(...file.events.filter(({ user_id }) => !erased.has(user_id)));
    }
    live = { learnt: mark, events };
    versions.push(live);
  };
  return {
    async take(step: Step): Promise<void> {
      if (step.do === "post") {
        const nowSeconds = Math.floor(Date.now() / 1000);
        const sent = step.events
          .map(({ user, item, type, ago }) => ({
            user: USERS[user]! as UserId,
            event: {
              event_id: `e${sentCount++}`,
              item_id: itemOf(item),
              type,
              created_at: nowSeconds - ago,
              value: null,
              rank_id: null,
            },
          }))
          .filter(({ user }) => !erased.has(user)); // the edge drops these
        expect(await append(sent)).toEqual({ accepted: sent.length, duplicates: 0 });
        plain.push(...sent);
        posts.push({ sent, atMs: Date.now() });
      }
      if (step.do === "repeat" && posts.length > 0) {
        const { sent, atMs } = posts[step.which % posts.length]!;
        if (Date.now() > atMs + 7 * DAY_MS || sent.some(({ user }) => erased.has(user))) return;
        expect(await append(sent)).toEqual({ accepted: 0, duplicates: sent.length });
      }
      if (step.do === "alarm") await world.alarm(step.fault);
      if (step.do === "train") train();
      if (step.do === "restart") world.restart();
      if (step.do === "activate") live = versions[step.which % versions.length]!;
      if (step.do === "wait") vi.setSystemTime(Date.now() + step.hours * HOUR_MS);
      if (step.do === "forget versions") {
        versions = [...new Set([live, versions.at(-1)!])];
        const learnt = Math.min(...versions.map((version) => version.learnt));
        world.objects.set(learntMarksKey("acme"), new TextEncoder().encode(JSON.stringify({ [PLACE.shard]: learnt })));
      }
      if (step.do === "erase") {
        const user = USERS[step.user]! as UserId;
        erased.add(user);
        await world.shard().erase([user]);
      }
    },
    /** Compares every user's record and live events with the plain list. */
    async check(): Promise<void> {
      for (const user of USERS.map((name) => name as UserId)) {
        if (erased.has(user)) {
          expect(await world.shard().eventsOf([user], 10)).toEqual([]);
          continue;
        }
        const { events } = await world.shard().liveEvents([user], live.learnt);
        const stored = recordOf(live.events.filter(({ user_id }) => user_id === user));
        const { record } = withLiveEvents(stored, events as LiveEvent[], { meanings: MEANINGS, indexOf });
        const own = plain.flatMap((sent) => (sent.user === user ? [sent.event] : []));
        expect(shown(record)).toEqual(shown(recordOf(own)));
      }
    },
  };
}

test("random interleavings agree with a plain list", { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      vi.setSystemTime(START_MS);
      world = startShardWorld();
      const { take, check } = startScript();
      try {
        for (const step of script) {
          await take(step);
          await check();
        }
      } finally {
        world.stop();
      }
    }),
    { numRuns: 500, examples: [[NUMBER_USED_TWICE]] },
  );
});
