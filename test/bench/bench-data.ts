import { packStrings } from "../../shared/packed-strings.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";

const BEGIN = 1_700_000_000;
const DAY = 86_400;

/**
 * Generated users who keep to a few regions of a catalog with Zipf-distributed popularity. The same arguments give the
 * same data.
 */
export function drawnDataset({
  users,
  items,
  perUser,
}: {
  readonly users: number;
  readonly items: number;
  readonly perUser: number;
}): Dataset {
  const random = seededRandom(11);
  const userStart = new Uint32Array(users + 1);
  const chosen: number[] = [];
  for (let user = 0; user < users; user++) {
    const own = new Set<number>();
    const homes = [0, 1, 2].map(() => Math.floor(items * random() ** 3));
    for (let tries = 0; own.size < perUser && tries < perUser * 4; tries++) {
      const near = homes[Math.floor(random() * 3)]! + Math.floor((random() ** 2 * items) / 100);
      own.add(random() < 0.8 ? near % items : Math.floor(items * random() ** 3));
    }
    chosen.push(...own);
    userStart[user + 1] = chosen.length;
  }
  return {
    userCount: users,
    itemCount: items,
    userStart,
    items: Int32Array.from(chosen),
    times: Uint32Array.from(chosen, (_, i) => BEGIN + Math.floor((i % perUser) * DAY)),
    positive: new Uint8Array(chosen.length).fill(1),
    ratings: null,
    itemIds: packStrings(Array.from({ length: items }, (_, item) => String(item + 1))),
    userIds: packStrings(Array.from({ length: users }, (_, user) => String(user + 1))),
    itemIdType: "integer",
    itemAttributes: [
      { name: "price", type: "Numerical", values: Float64Array.from({ length: items }, (_, item) => item % 100) },
    ],
    userAttributes: [],
  };
}
