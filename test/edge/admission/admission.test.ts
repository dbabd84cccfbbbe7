import { expect, test } from "vitest";
import { type Admission, createAdmission, type Place } from "../../../edge/admission/admission.ts";

const TTL_MS = 10_000;
/** Items of a catalog of which a call is estimated to take 5 ms. */
const FIVE_MS = (5 - 1.7) / 21.5e-6;

/** Lets in as many calls as it can, all at the same time. */
function fill(admission: Admission, itemCount: number, nowMs: number): Place[] {
  const places: Place[] = [];
  for (
    let place = admission.admit({ holder: "acme", itemCount, nowMs });
    place;
    place = admission.admit({ holder: "acme", itemCount, nowMs })
  )
    places.push(place);
  return places;
}

test.each([
  ["small catalogs", 1000, 100, 58],
  ["a catalog of which a call takes 5 ms", FIVE_MS, 100, 20],
  ["a million: four, though they are longer than what may wait", 1_000_000, 100, 4],
  ["calls that are each longer than what may wait", 10_000_000, 100, 4],
])("the larger the catalog, the fewer at once: %s", (_, itemCount, queueMsMax, count) => {
  expect(fill(createAdmission(queueMsMax, TTL_MS), itemCount, 0).length).toBe(count);
});

test("it is full when not even the quickest call is let in", () => {
  const admission = createAdmission(100, TTL_MS);
  expect(admission.isFull(0, "acme")).toBe(false);
  expect(admission.admit({ holder: "acme", itemCount: 3_000_000, nowMs: 0 })).toBeDefined();
  expect(admission.isFull(0, "acme")).toBe(false);
  fill(admission, 0, 0);
  expect(admission.isFull(0, "acme")).toBe(true);
});

test("who leaves makes room; who never leaves does so when its time is over", () => {
  const admission = createAdmission(100, TTL_MS);
  const [first] = fill(admission, 1_000_000, 0);
  const arrival = { holder: "acme", itemCount: 1_000_000, nowMs: 0 };
  first!.end(0);
  expect(admission.admit(arrival)).toBeDefined();
  expect(admission.admit({ ...arrival, nowMs: TTL_MS - 1 })).toBeUndefined();
  expect(admission.admit({ ...arrival, nowMs: TTL_MS })).toBeDefined();
});

test("a call that waits for a read is ahead of nobody until it goes on", async () => {
  const admission = createAdmission(100, TTL_MS);
  const places = fill(admission, 1_000_000, 0);
  const { promise, resolve } = Promise.withResolvers<string>();
  const away = places.map((place) => place.away(promise, () => 1));
  const others = fill(admission, 1_000_000, 200);
  expect(others).toHaveLength(places.length);
  for (const other of others) other.end(200);
  resolve("read");
  expect(await Promise.all(away)).toEqual(places.map(() => "read"));
  expect(admission.admit({ holder: "acme", itemCount: 1_000_000, nowMs: 1 })).toBeUndefined();
  const failing = places[0]!.away(Promise.reject(new Error("down")), () => 1);
  await expect(failing).rejects.toThrow("down");
  expect(admission.admit({ holder: "acme", itemCount: 1_000_000, nowMs: 1 })).toBeUndefined();
});

test("who could begin only later than calls may wait is refused, though few are ahead", () => {
  const admission = createAdmission(100, TTL_MS);
  for (const place of fill(admission, FIVE_MS, 0)) void place.away(new Promise(() => {}), () => 0);
  expect(fill(admission, FIVE_MS, 0).length).toBe(19); // begin from 50 to 95 ms
});
test("a caller who asks again as soon as it is answered is seldom held up, though its calls are quicker than their pace", () => {
  const admission = createAdmission(100, TTL_MS);
  let held = 0;
  for (let call = 0, nowMs = 1000; call < 100; call++) {
    const place = admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs })!; // 2.5 ms apart
    if (place.beginMs > nowMs) held++;
    nowMs = Math.ceil(place.beginMs);
    place.begin(nowMs);
    nowMs += 2;
    place.end(nowMs);
  }
  expect(held).toBeGreaterThan(0); // else the thread would never look outside
  expect(held).toBeLessThanOrEqual(10);
});

test("calls that come together begin one after another, half their time apart; later ones at once", () => {
  const admission = createAdmission(100, TTL_MS);
  const beginsOf = (nowMs: number) => admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs })?.beginMs;
  expect([beginsOf(1000), beginsOf(1000), beginsOf(1000)]).toEqual([1000, 1002.5, 1005]);
  expect([beginsOf(1006), beginsOf(1008)]).toEqual([1007.5, 1010]);
  expect(beginsOf(1100)).toBe(1100);
});

/** There is always one more to let in, and one after another takes so many times its estimate; gives how many are let in together. */
function lettingIn(
  admission: Admission,
  {
    times,
    fromMs,
    untilMs,
    isOverloaded = false,
  }: { times: number; fromMs: number; untilMs: number; isOverloaded?: boolean },
): number {
  const itemCount = FIVE_MS;
  const waiting: Place[] = [];
  let most = 0;
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 5 * times) {
    waiting.push(...fill(admission, itemCount, nowMs));
    if (isOverloaded) admission.refuse(nowMs);
    most = nowMs > untilMs - 500 ? Math.max(most, waiting.length) : 0;
    const place = waiting.shift()!;
    place.begin(nowMs);
    place.end(nowMs);
  }
  for (const place of waiting) place.end(untilMs);
  return most;
}

test("where waits are longer than estimated, fewer are let in, until they are not", () => {
  const admission = createAdmission(100, TTL_MS);
  expect(lettingIn(admission, { times: 1, fromMs: 10_000, untilMs: 15_000 })).toBeGreaterThanOrEqual(19);
  const slow = lettingIn(admission, { times: 3, fromMs: 15_000, untilMs: 20_000 });
  expect(slow).toBeGreaterThanOrEqual(5);
  expect(slow).toBeLessThanOrEqual(9);
  expect(fill(admission, FIVE_MS, 30_000).length).toBeGreaterThanOrEqual(19);
});
test("where waits are usually shorter than estimated up to twice as many are let in, and as few as ever once they are not", () => {
  const admission = createAdmission(100, TTL_MS);
  expect(fill(admission, FIVE_MS, 0).map((place) => place.end(0))).toHaveLength(20);
  lettingIn(admission, { times: 0.5, fromMs: 1000, untilMs: 40_000 });
  const quick = fill(admission, FIVE_MS, 100_000);
  expect(quick.length).toBeGreaterThanOrEqual(36);
  expect(quick.length).toBeLessThanOrEqual(40);
  for (const place of quick) place.end(100_000);
  expect(lettingIn(admission, { times: 3, fromMs: 110_000, untilMs: 113_000 })).toBeLessThanOrEqual(9);
});
test("in an overload a fifth as many wait, once it is seen to be one; after it as many as before", () => {
  const admission = createAdmission(200, TTL_MS);
  const letIn = lettingIn(admission, { times: 1, fromMs: 0, untilMs: 5000, isOverloaded: true });
  expect(letIn).toBeGreaterThanOrEqual(7);
  expect(letIn).toBeLessThanOrEqual(11);
  expect(fill(admission, FIVE_MS, 7000).length).toBe(40);
});
test("one stall is no overload", () => {
  const admission = createAdmission(200, TTL_MS);
  const callEvery = (milliseconds: number, untilMs: number) => {
    for (let nowMs = 0; nowMs < untilMs; nowMs += milliseconds) {
      const place = admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs })!;
      place.begin(nowMs);
      place.end(nowMs + 5);
    }
  };
  callEvery(7, 2000);
  const stalled = Array.from(
    { length: 20 },
    () => admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 2000 })!,
  );
  for (const place of stalled) {
    place.begin(2140);
    place.end(2140);
  }
  expect(fill(admission, FIVE_MS, 2140).length).toBeGreaterThanOrEqual(30);
});
test("an overload that begins after a stall is seen at once: only as many are owed as did not come meanwhile", () => {
  const admission = createAdmission(200, TTL_MS);
  for (let nowMs = 0; nowMs < 2000; nowMs += 7)
    admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs })!.end(nowMs);
  admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 2000 });
  admission.isFull(2140, "acme");
  for (let call = 0; call < 250; call++) admission.refuse(2141);
  expect(fill(admission, FIVE_MS, 2141).length).toBeLessThanOrEqual(8);
});
/** Lets in a call, then nothing happens for so long; gives how many are let in after it. */
function afterStall(admission: Admission, { atMs, stallMs }: { atMs: number; stallMs: number }): number {
  const first = admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: atMs })!;
  const places = [first, ...fill(admission, FIVE_MS, atMs + stallMs)];
  for (const place of places) place.end(atMs + stallMs);
  return places.length;
}

test("after a stall as much more may wait as the thread was held up, five times the bound at most, and less as time goes by", () => {
  expect(afterStall(createAdmission(100, TTL_MS), { atMs: 1000, stallMs: 60 })).toBe(32);
  expect(afterStall(createAdmission(100, TTL_MS), { atMs: 1000, stallMs: 900 })).toBe(120);
  const admission = createAdmission(100, TTL_MS);
  afterStall(admission, { atMs: 1000, stallMs: 100 });
  admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 1100 });
  for (let nowMs = 1110; nowMs <= 2600; nowMs += 10) admission.isFull(nowMs, "acme");
  expect(fill(admission, FIVE_MS, 2600).length + 1).toBe(30);
});

test("a queue that a stall left has passed when the thread idles: an overload later does not find its patience", () => {
  const admission = createAdmission(100, TTL_MS);
  afterStall(admission, { atMs: 1000, stallMs: 100 });
  for (let nowMs = 1110; nowMs < 1500; nowMs += 10)
    admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs })!.end(nowMs);
  expect(fill(admission, FIVE_MS, 1500).length).toBe(20);
});

test("time in which no call waits is no stall, nor is the time of a call itself", () => {
  const idle = createAdmission(100, TTL_MS);
  idle.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 0 })!.end(0);
  expect(fill(idle, FIVE_MS, 500).length).toBe(20);
  const slow = createAdmission(100, TTL_MS);
  const itemCount = (30 - 1.7) / 21.5e-6;
  slow.admit({ holder: "acme", itemCount, nowMs: 0 });
  expect(fill(slow, itemCount, 119).length + 1).toBe(4);
});

test("while a version is loaded more may wait, since that will hold the thread up", () => {
  const admission = createAdmission(100, TTL_MS);
  admission.loading(1000);
  const places = fill(admission, FIVE_MS, 1000);
  expect(places.length).toBe(60);
  for (const place of places) place.end(1000);
  expect(fill(admission, FIVE_MS, 9000).length).toBe(20);
});

test("in an overload a stall gives nobody more time", () => {
  const admission = createAdmission(200, TTL_MS);
  lettingIn(admission, { times: 1, fromMs: 0, untilMs: 5000, isOverloaded: true });
  admission.loading(5000);
  expect(afterStall(admission, { atMs: 5000, stallMs: 30 })).toBeLessThanOrEqual(11);
});

test("what calls waited because of a stall does not make them seem slow", () => {
  const admission = createAdmission(200, TTL_MS);
  const waiting = Array.from({ length: 20 }, () => admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 0 })!);
  admission.isFull(300, "acme");
  for (const [i, place] of waiting.entries()) {
    place.begin(300 + 5 * i);
    place.end(305 + 5 * i);
  }
  expect(fill(admission, FIVE_MS, 400).length).toBeGreaterThan(90);
});

test("refusals are held back while there is a flood of calls, and only then", () => {
  const admission = createAdmission(100, TTL_MS);
  const holdAt = (perMs: number, fromMs: number) => {
    for (let ms = fromMs; ms < fromMs + 1000; ms++) {
      admission.admit({ holder: "acme", itemCount: 0, nowMs: ms })?.end(ms);
      for (let call = 1; call < perMs; call++) admission.refuse(ms);
    }
    return admission.holdMs(fromMs + 1000);
  };
  expect([holdAt(2, 0), holdAt(8, 1000), holdAt(1, 2000)]).toEqual([0, 100, 0]);
});
test("refusals are told about once a second, together", () => {
  const admission = createAdmission(100, TTL_MS);
  expect([0, 1, 999, 1000, 1001].map((nowMs) => admission.refuse(nowMs))).toEqual([
    1,
    undefined,
    undefined,
    3,
    undefined,
  ]);
});

/** Calls of 2 ms at an even rate, each answered before the next; then none for 90 ms. Gives how many may wait then. */
function waitingAfterGap(everyMs: number): number {
  const admission = createAdmission(100, TTL_MS);
  let nowMs = 10_000;
  for (; nowMs < 12_000; nowMs += everyMs) {
    admission.isFull(nowMs, "acme");
    admission.admit({ holder: "acme", itemCount: 0, nowMs })!.end(nowMs); // the clock stands while a call is ranked from memory
  }
  const endMs = nowMs - everyMs + 90;
  admission.isFull(endMs, "acme");
  return fill(admission, 0, endMs).length;
}
test("a stall in the middle of a call that waits for nothing is seen by the calls that did not come", () => {
  expect(waitingAfterGap(20)).toBe(58); // of four calls that should have come none may have, by chance
  expect(waitingAfterGap(4)).toBeGreaterThan(100);
});

test("of two customers who ask none fills the queue; one alone may", () => {
  const letIn = (admission: Admission, holder: string) => {
    let count = 0;
    while (admission.admit({ holder, itemCount: FIVE_MS, nowMs: 1000 })) count++;
    return count;
  };
  const alone = createAdmission(100, TTL_MS);
  expect(letIn(alone, "acme")).toBe(20);
  const unknown = createAdmission(100, TTL_MS); // until its key was checked
  unknown.admit({ holder: "bolt", itemCount: FIVE_MS, nowMs: 1000 })!.end(1000);
  expect(letIn(unknown, "acme")).toBe(15);
  const shared = createAdmission(100, TTL_MS);
  expect(shared.isFull(1000, "bolt")).toBe(false);
  expect(letIn(shared, "acme")).toBe(15);
  expect([shared.isFull(1000, "acme"), shared.isFull(1000, ""), shared.isFull(1000, "bolt")]).toEqual([
    true,
    false,
    false,
  ]);
  expect(letIn(shared, "bolt")).toBe(5);
});

test("a key that is not known yet may be of the same customer, and counts as another only where it is refused", () => {
  const admission = createAdmission(100, TTL_MS);
  const admit = (nowMs: number) => admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs });
  expect(admission.isFull(1000, "")).toBe(false);
  const places = fill(admission, FIVE_MS, 1000);
  expect(places.length).toBe(20);
  expect(admission.isFull(1000, "")).toBe(true);
  for (const place of places.slice(0, 4)) place.end(1000);
  expect([admit(1000), admission.isFull(1000, "")]).toEqual([undefined, false]);
});

test("a stall is seen though the only call that waited ends with it", () => {
  const admission = createAdmission(100, TTL_MS);
  admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 1000 })!.end(1100);
  expect(fill(admission, FIVE_MS, 1100).length).toBe(40);
});

test("calls that take longer than estimated begin further apart", () => {
  const admission = createAdmission(200, TTL_MS);
  const apart = () => {
    const places = fill(admission, FIVE_MS, 100_000);
    for (const place of places) place.end(100_000);
    return places[2]!.beginMs - places[1]!.beginMs;
  };
  lettingIn(admission, { times: 1.5, fromMs: 10_000, untilMs: 99_000 });
  expect(apart()).toBeGreaterThan(5);
});

test("a clock that steps back holds nobody up for as long", () => {
  const admission = createAdmission(100, TTL_MS);
  admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 3_600_000 })!.end(3_600_000);
  const place = admission.admit({ holder: "acme", itemCount: FIVE_MS, nowMs: 0 })!;
  expect(place.beginMs).toBeLessThanOrEqual(600);
});
