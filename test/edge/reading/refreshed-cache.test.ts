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
test("a servable value is returned at once and refreshed in the background, by one read only", async () => {
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
test("a value that is too old is read again first", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 20;
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("while it cannot be read, an old value is used for a limited time", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 1999;
  expect(await cache.get("k", fails, access)).toBe("a");
  now = 2000;
  await expect(cache.get("k", fails, access)).rejects.toThrow("down");
});
test("that time does not depend on when the value was read", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  now = 5000;
  await cache.get("k", gives("a"), access);
  now = 6999;
  expect(await cache.get("k", fails, access)).toBe("a");
});
test("while one call reads a value that is too old, no other call gets the old one: it may be deleted", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  await cache.get("k", gives("a"), access);
  now = 100;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const slow = cache.get("k", () => promise, access);
  expect(await cache.get("k", gives("b"), access)).toBe("b");
  resolve(undefined);
  await slow;
});
test("a failed refresh in the background counts as a failure until a read succeeds", async () => {
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
test("after a failure there is no other attempt for a second", async () => {
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
test("the age of a value counts from the start of its read", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  const slow = async () => {
    now = 15;
    return "a";
  };
  await cache.get("k", slow, access);
  now = 20;
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("an absent value has its own, short age, and no refresh in the background", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  expect(await cache.get("k", gives(undefined), access)).toBeUndefined();
  now = 4;
  expect(await cache.get("k", gives("a"), access)).toBeUndefined();
  now = 5;
  expect(await cache.get("k", gives("a"), access)).toBe("a");
});
test("a slow read does not replace a value whose read began later", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = cache.get("k", () => promise, access);
  now = 1;
  await cache.get("k", gives("new"), access);
  resolve("old");
  await slow;
  expect(await cache.get("k", gives("newest"), access)).toBe("new");
});
test("the number of entries is limited", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 2);
  for (const key of ["a", "b", "c"]) await cache.get(key, gives(key), access);
  await cache.get("c", gives("c"), access);
  expect(reads).toBe(3);
  await cache.get("a", gives("a"), access);
  expect(reads).toBe(4);
});

test("after invalidation only later reads count, even if they fail", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  now = 5;
  await cache.get("k", gives("old"), access);
  const { promise, resolve } = Promise.withResolvers<string>();
  now = 16;
  await cache.get("k", () => promise, access); // begins before the invalidation and ends after it
  now = 17;
  cache.invalidate("k", now);
  resolve("between");
  await Promise.all(background);
  await expect(cache.get("k", fails, access)).rejects.toThrow("down");
  now = 18;
  expect(await cache.get("k", gives("new"), access)).toBe("new");
  expect(await cache.get("k", gives("newer"), access)).toBe("new");
});
test("a read in the millisecond of the invalidation is returned to its caller and not cached", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  cache.invalidate("k", now);
  expect(await cache.get("k", gives("a"), access)).toBe("a");
  expect(await cache.get("k", gives("b"), access)).toBe("b");
});
test("the read function receives the cached value", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10);
  const grown = async (known: string | undefined) => `${known ?? ""}x`;
  expect(await cache.get("k", grown, access)).toBe("x");
  now = 30;
  expect(await cache.get("k", grown, access)).toBe("xx");
});
test("the total size is limited; the newest value stays, however large it is", async () => {
  const cache = refreshedCache<string>(FRESHNESS, 10, { of: (value) => value.length, max: 5 });
  for (const key of ["aa", "bb", "cc"]) await cache.get(key, gives(key), access);
  reads = 0;
  for (const key of ["bb", "cc", "aa"]) await cache.get(key, gives(key), access);
  expect(reads).toBe(1);
  for (now = 100; now < 500; now += 100) await cache.get("cc", gives("cc"), access); // its size counts once
  expect(await cache.get("aa", fails, access)).toBe("aa");
  await cache.get("large", gives("x".repeat(9)), access);
  expect(await cache.get("large", fails, access)).toBe("x".repeat(9));
});

describe("with read locks", () => {
  const locking = () => refreshedCache<string>({ ...FRESHNESS, readLockMs: 1000 }, 10);

  test("one request reads a missing value, the others poll until it is there", async () => {
    const cache = locking();
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
  test("a value that is too old is read again first, and an absent one after its own age", async () => {
    const cache = locking();
    now = 100;
    await cache.get("k", gives("a"), access);
    await cache.get("absent", gives(undefined), access);
    now = 106;
    expect(await cache.get("absent", gives("b"), access)).toBe("b");
    now = 120;
    expect(await cache.get("k", gives("b"), access)).toBe("b");
  });
  test("after a failure another request reads; a hanging read is waited for no longer than the lock lasts", async () => {
    const cache = locking();
    const [bad, good] = [cache.get("k", fails, access), cache.get("k", gives("a"), access)];
    await expect(bad).rejects.toThrow("down");
    expect(await good).toBe("a");
    const hanging = locking();
    void hanging.get("k", () => new Promise(() => {}), access);
    const waiting = hanging.get("k", gives("b"), access);
    now += 1000;
    expect(await waiting).toBe("b");
  });
  test("a value is read again if the clock has stepped back since", async () => {
    const cache = locking();
    now = 3_600_000;
    await cache.get("k", gives("a"), access);
    now = 3_599_500;
    expect(await cache.get("k", gives("b"), access)).toBe("a");
    now = 0;
    expect(await cache.get("k", gives("b"), access)).toBe("b");
    expect(await cache.get("k", gives("c"), access)).toBe("b");
  });
  test("after invalidation a current read is not waited for, and the next read receives the old value", async () => {
    const cache = locking();
    await cache.get("k", gives("a"), access);
    now = 1;
    cache.invalidate("k", now);
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
