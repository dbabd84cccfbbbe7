import { expect, test } from "vitest";
import { userHash } from "../../../../shared/hash.ts";
import { packStrings, stringAt } from "../../../../shared/packed-strings.ts";
import { compareHashes } from "../../../../shared/user-records.ts";
import { historiesOf } from "../../../../trainer/read/spool/user-histories.ts";

const salt = new Uint8Array(16).fill(9);

test("every user comes once, by ascending hash, with history and seen items", async () => {
  const userIds = packStrings(["a", "b", "ü"]);
  const histories = historiesOf(
    {
      userCount: 3,
      itemCount: 9,
      userStart: Uint32Array.of(0, 4, 4, 5),
      items: Int32Array.of(7, 2, 7, 5, 8),
      times: Uint32Array.of(10, 20, 30, 40, 50),
      positive: Uint8Array.of(1, 0, 1, 1, 0),
      ratings: null,
    },
    userIds,
    salt,
  );
  const users = (await Array.fromAsync(histories.batches())).flat();
  const contents = [
    { items: [7, 7, 5], times: [10, 30, 40], seen: Int32Array.of(2, 5, 7) },
    { items: [], times: [], seen: Int32Array.of() },
    { items: [], times: [], seen: Int32Array.of(8) },
  ];
  const expected = await Promise.all(
    contents.map(async (content, u) => ({ hash: await userHash(salt, stringAt(userIds, u)), content })),
  );
  expect(users).toEqual(expected.sort((a, b) => compareHashes(a.hash, b.hash)));
});

test("a long history is cut to the newest thousand", async () => {
  const rows = 1500;
  const histories = historiesOf(
    {
      userCount: 1,
      itemCount: rows,
      userStart: Uint32Array.of(0, rows),
      items: Int32Array.from({ length: rows }, (_, i) => i),
      times: new Uint32Array(rows).fill(5),
      positive: new Uint8Array(rows).fill(1),
      ratings: null,
    },
    packStrings(["u"]),
    salt,
  );
  const [user] = (await Array.fromAsync(histories.batches())).flat();
  expect([user!.content.items.length, user!.content.items[0]]).toEqual([1000, 500]);
});
