/** Small artifacts of every kind in format 1, made by today's writers. Their frozen bytes are in format-1/. */
import { type AttributeColumn, encodeAttributes } from "../../shared/attributes.ts";
import { encodeCatalog } from "../../shared/catalog.ts";
import { KeyRecord } from "../../shared/key-record.ts";
import { LivePointer } from "../../shared/live-pointer.ts";
import { Manifest, MEDIA_TYPES } from "../../shared/manifest.ts";
import { packStrings } from "../../shared/packed-strings.ts";
import { encodeSeen } from "../../shared/seen.ts";
import { historiesOf } from "../../trainer/read/spool/user-histories.ts";
import { packedUserRecords } from "../fixtures/packed-user-records.ts";

export const TEXT_IDS = ["b", "ab", "c", "é", "\u{1F600}"];
export const INTEGER_IDS = ["7", "3", "4294967295", "0", "12"];
export const LARGE_IDS = ["9007199254740993", "-5", "10", "9", "-123456789012345678901234567890"];
export const SALT = Uint8Array.from({ length: 16 }, (_, i) => i * 11);

/** Four items. */
export const COLUMNS: readonly AttributeColumn[] = [
  { name: "stock", type: "Boolean", values: Uint8Array.of(1, 0, 255, 1) },
  { name: "year", type: "Numerical", values: Float64Array.of(1990, 2000, Number.NaN, 1995) },
  { name: "price", type: "Numerical", values: Float64Array.of(9.99, 0.5, 9.99, Number.NaN) },
  { name: "weight", type: "Numerical", values: Float64Array.of(0.1, 0.2, 0.3, -1e300) },
  { name: "added", type: "Timestamp", values: Float64Array.of(1_700_000_000, 0, Number.NaN, -1.5) },
  {
    name: "color",
    type: "Category",
    dictionary: ["red", "blue"],
    start: Uint32Array.of(0, 1, 1, 2, 3),
    codes: Uint32Array.of(0, 1, 0),
  },
  {
    name: "tags",
    type: "CategoryList",
    dictionary: ["new", "sale", "a b"],
    start: Uint32Array.of(0, 2, 2, 3, 5),
    codes: Uint32Array.of(1, 0, 0, 2, 0),
  },
];

/** Each form of a set of seen items once. */
export const SEEN = {
  "seen-gaps.bin": { items: [0, 5, 300, 301, 999], itemCount: 1000 },
  "seen-bitmap.bin": { items: [1, 2, 6], itemCount: 8 },
  "seen-bloom.bin": { items: [1, 9, 77, 1_000_000, 3_000_000, 5_000_000, 9_000_000, 9_500_000], itemCount: 10_000_000 },
} as const;

/** Twenty users and 50 items. User u has u + 1 interactions with the items u, u + 1, …; every third one is negative. */
export const USER_COUNT = 20;
export const USER_ITEM_COUNT = 50;
export const factsOf = (user: number) =>
  Array.from({ length: user + 1 }, (_, i) => ({
    item: (user + i) % USER_ITEM_COUNT,
    time: 1_600_000_000 + user * 1000 + i * 60,
    positive: i % 3 === 2 ? 0 : 1,
  }));

async function userFiles(): Promise<[string, Uint8Array][]> {
  const users = Array.from({ length: USER_COUNT }, (_, user) => factsOf(user));
  const facts = users.flat();
  const userStart = new Uint32Array(USER_COUNT + 1);
  for (const [u, of] of users.entries()) userStart[u + 1] = userStart[u]! + of.length;
  const interactions = {
    userCount: USER_COUNT,
    itemCount: USER_ITEM_COUNT,
    userStart,
    items: Int32Array.from(facts, (fact) => fact.item),
    times: Uint32Array.from(facts, (fact) => fact.time),
    positive: Uint8Array.from(facts, (fact) => fact.positive),
    ratings: null,
  };
  const ids = packStrings(users.map((_, user) => `user ${user}`));
  const { pages, directory } = await packedUserRecords(historiesOf(interactions, ids, SALT), { historyMax: 10 });
  return [
    ...pages.map((bytes, i): [string, Uint8Array] => [`user-pages-${i}.bin`, bytes]),
    ["user-directory.bin", directory],
  ];
}

const file = { media_type: MEDIA_TYPES.catalog, digest: `sha256:${"ab".repeat(32)}`, size: 10 };
const created_at = "2026-01-01T00:00:00Z";

const manifest: Manifest = {
  format: 1,
  customer: "acme",
  model_name: "shop",
  created_at,
  item_id_type: "integer",
  item_id_column: "item_id",
  item_count: 4,
  user_count: 20,
  model: {
    method: "ease",
    history_max: 100,
    graph: file,
    weights: [{ path: "weights.bin", file }],
    golden: [{ items: [0], ages_days: [1.5], scores: [[1, 0.5]] }],
    golden_tolerance: 1e-4,
  },
  catalog: file,
  attributes: file,
  users: { directory: file, pages: [file] },
};
const live: LivePointer = {
  format: 1,
  status: "ACTIVE",
  live: { version: "v1", manifest: file },
  updated_at: created_at,
};
const key: KeyRecord = {
  format: 1,
  key_id: "abcd1234",
  customer: "acme",
  scopes: ["rank", "manage"],
  created_at,
  expires_at: null,
  revoked_at: null,
};

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** File name to bytes. */
export async function format1Files(): Promise<ReadonlyMap<string, Uint8Array>> {
  return new Map<string, Uint8Array>([
    ["catalog-text.bin", encodeCatalog({ itemIds: packStrings(TEXT_IDS), itemIdType: "string" })],
    ["catalog-integers.bin", encodeCatalog({ itemIds: packStrings(INTEGER_IDS), itemIdType: "integer" })],
    ["catalog-large-integers.bin", encodeCatalog({ itemIds: packStrings(LARGE_IDS), itemIdType: "integer" })],
    ["attributes.bin", encodeAttributes(COLUMNS, 4)],
    ...Object.entries(SEEN).map(([name, { items, itemCount }]) => [name, encodeSeen(items, itemCount)] as const),
    ...(await userFiles()),
    ["manifest.json", json(Manifest.parse(manifest))],
    ["manifest-sessions.json", json(Manifest.parse({ ...manifest, sessions: { repeats: true } }))],
    ["live.json", json(LivePointer.parse(live))],
    ["key-record.json", json(KeyRecord.parse(key))],
  ]);
}
