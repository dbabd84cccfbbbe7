import { beforeEach, describe, expect, test } from "vitest";
import { refreshedCache } from "../../../edge/reading/refreshed-cache.ts";

const FRESHNESS = { freshMs: 10, servableMs: 20, keptMs: 2000, absentMs: 5 };
let now: number;
let reads: number;
let background: Promise<unknown>[];
const access = { nowMs: () => now, waitUntil: (work: Promise<unknown>) => void background.push(work) };
const gives = (value: string | undefined) => async () => {
  reads++;
  return value;
};
const fails = async (): Promise<string> => {
  reads++;
  throw new Error("down");
};

beforeEach(() => {
  now = 0;
  reads = 0;
  background = [];
});

test("a fresh value is not read again", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  expect(await cache.get("k", gives("a"), access)).toBe("a");
  now = 9;
  expect(await cache.get("k", gives("b"), access)).toBe("a");
  expect(reads).toBe(1);
});
test("a servable value is given at once and replaced behind the request's back, by one read only", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 15;
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = () => {
    reads++;
    return promise;
  };
  expect(await cache.get("k", slow, access)).toBe("a");
  expect(await cache.get("k", gives("c"), access)).toBe("a");
  resolve("b");
  await Promise.all(background);
  expect(await cache.get("k", gives("d"), access)).toBe("b");
  expect(reads).toBe(2);
});
test("an old value is read again first", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 20;
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("while it cannot be read, an old value is kept, but not for ever", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 1999;
  expect(await cache.get("k", fails, access)).toBe("a");
  now = 2000;
  await expect(cache.get("k", fails, access)).rejects.toThrow("down");
});
test("how long it is kept does not depend on when it was read", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  now = 5000;
  await cache.get("k", gives("a"), access);
  now = 6999;
  expect(await cache.get("k", fails, access)).toBe("a");
});
test("while one call reads what is too old, no other is given the old value: it may be gone", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 100;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const slow = cache.get("k", () => promise, access);
  expect(await cache.get("k", gives("b"), access)).toBe("b");
  resolve(undefined);
  await slow;
});
test("what fails behind a request's back is a failure too, until a read succeeds", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 19;
  await cache.get("k", fails, access);
  await Promise.all(background);
  now = 100;
  await cache.get("k", fails, access);
  expect(await cache.get("k", gives("b"), access)).toBe("a");
  now = 1100;
  expect(await cache.get("k", gives("b"), access)).toBe("b");
  now = 1120;
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = cache.get("k", () => promise, access);
  expect(await cache.get("k", gives("c"), access)).toBe("c");
  resolve("c");
  await slow;
});
test("after a failure the next second is not spent on more failures", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 100;
  await cache.get("k", fails, access);
  now = 1099;
  await cache.get("k", fails, access);
  expect(reads).toBe(2);
  now = 1100;
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("the age that counts is the time when the read began", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  const slow = async () => {
    now = 15;
    return "a";
  };
  await cache.get("k", slow, access);
  now = 20;
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("an absent value has its own, short age, and no refresh behind the back", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  expect(await cache.get("k", gives(undefined), access)).toBeUndefined();
  now = 4;
  expect(await cache.get("k", gives("a"), access)).toBeUndefined();
  now = 5;
  expect(await cache.get("k", gives("a"), access)).toBe("a");
});
test("a slow read that began before does not replace what was read since", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = cache.get("k", () => promise, access);
  now = 1;
  await cache.get("k", gives("new"), access);
  resolve("old");
  await slow;
  expect(await cache.get("k", gives("newest"), access)).toBe("new");
});
test("it never holds more entries than it may", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 2);
  for (const key of ["a", "b", "c"]) await cache.get(key, gives(key), access);
  await cache.get("c", gives("c"), access);
  expect(reads).toBe(3);
  await cache.get("a", gives("a"), access);
  expect(reads).toBe(4);
});

test("after forget only what is read later counts, also when it cannot be read", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  now = 5;
  await cache.get("k", gives("old"), access);
  const { promise, resolve } = Promise.withResolvers<string>();
  now = 16;
  await cache.get("k", () => promise, access); // begins before forget, and ends after it
  now = 17;
  cache.forget("k", now);
  resolve("between");
  await Promise.all(background);
  await expect(cache.get("k", fails, access)).rejects.toThrow("down");
  now = 18;
  expect(await cache.get("k", gives("new"), access)).toBe("new");
  expect(await cache.get("k", gives("newer"), access)).toBe("new");
});
test("what began in the millisecond of forget is given to who asked, and not kept", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  cache.forget("k", now);
  expect(await cache.get("k", gives("a"), access)).toBe("a");
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("the reader is told what is known", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  const grown = async (known: string | undefined) => `${known ?? ""}x`;
  expect(await cache.get("k", grown, access)).toBe("x");
  now = 30;
  expect(await cache.get("k", grown, access)).toBe("xx");
});
test("values together stay within their bytes; the newest stays, however large", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10, { of: (value) => value.length, max: 5 });
  for (const key of ["aa", "bb", "cc"]) await cache.get(key, gives(key), access);
  reads = 0;
  for (const key of ["bb", "cc", "aa"]) await cache.get(key, gives(key), access);
  expect(reads).toBe(1);
  for (now = 100; now < 500; now += 100) await cache.get("cc", gives("cc"), access); // counts once
  expect(await cache.get("aa", fails, access)).toBe("aa");
  await cache.get("large", gives("x".repeat(9)), access);
  expect(await cache.get("large", fails, access)).toBe("x".repeat(9));
});

describe("with claims", () => {
  const claiming = () => refreshedCache<string>({ ...FRESHNESS, claimMs: 1000 }, 10);

  test("one reads what is not known, the others look again until it has come", async () => {
    const cache = claiming();
    now = 100;
    const { promise, resolve } = Promise.withResolvers<string>();
    const slow = () => {
      reads++;
      return promise;
    };
    const all = Array.from({ length: 20 }, () => cache.get("k", slow, access));
    resolve("a");
    expect(new Set(await Promise.all(all))).toEqual(new Set(["a"]));
    expect(reads).toBe(1);
  });
  test("an old value is read again first, and an absent one after its own age", async () => {
    const cache = claiming();
    now = 100;
    await cache.get("k", gives("a"), access);
    await cache.get("absent", gives(undefined), access);
    now = 106;
    expect(await cache.get("absent", gives("b"), access)).toBe("b");
    now = 120;
    expect(await cache.get("k", gives("b"), access)).toBe("b");
  });
  test("what failed is read by another; what hangs is waited for no longer than the claim", async () => {
    const cache = claiming();
    const [bad, good] = [cache.get("k", fails, access), cache.get("k", gives("a"), access)];
    await expect(bad).rejects.toThrow("down");
    expect(await good).toBe("a");
    const hanging = claiming();
    void hanging.get("k", () => new Promise(() => {}), access);
    const waiting = hanging.get("k", gives("b"), access);
    now += 1000;
    expect(await waiting).toBe("b");
  });
  test("what was read by a clock that has stepped back since is read anew", async () => {
    const cache = claiming();
    now = 3_600_000;
    await cache.get("k", gives("a"), access);
    now = 3_599_500;
    expect(await cache.get("k", gives("b"), access)).toBe("a");
    now = 0;
    expect(await cache.get("k", gives("b"), access)).toBe("b");
    expect(await cache.get("k", gives("c"), access)).toBe("b");
  });
  test("what was being read when it was to be forgotten is not waited for, and the value is known to who reads", async () => {
    const cache = claiming();
    await cache.get("k", gives("a"), access);
    now = 1;
    cache.forget("k", now);
    now = 2;
    const seen: (string | undefined)[] = [];
    const all = Array.from({ length: 5 }, () =>
      cache.get(
        "k",
        async (value) => {
          seen.push(value);
          return "b";
        },
        access,
      ),
    );
    expect(await Promise.all(all)).toEqual(Array(5).fill("b"));
    expect(seen).toEqual(["a"]);
  });
});
