import { expect, test } from "vitest";
import {
  blobKey,
  FORMAT,
  FORMAT_WITH_USER_VALUES,
  FORMATS_READ,
  listsKey,
  livePointerKey,
  Manifest,
  MEDIA_TYPES,
  manifestKey,
  prefixOf,
  replayKey,
  reportKey,
} from "../../shared/manifest.ts";

const file = { media_type: MEDIA_TYPES.catalog, digest: `sha256:${"ab".repeat(32)}`, size: 10 };
const manifest = {
  format: FORMAT,
  customer: "acme",
  model_name: "shop",
  created_at: "2026-01-01T00:00:00Z",
  item_id_type: "integer",
  item_id_column: "item_id",
  item_count: 2,
  user_count: 1,
  model: {
    method: "ease",
    history_max: 100,
    graph: file,
    weights: [{ path: "weights.bin", file }],
    golden: [{ items: [0], ages_days: [1.5], scores: [[1, 0.5]] }],
    golden_tolerance: 1e-4,
  },
  catalog: file,
  attributes: null,
  users: { directory: file, pages: [file] },
};

test("a complete manifest is read as it was written", () => expect(Manifest.parse(manifest)).toEqual(manifest));

test("a version without users has no user records", () =>
  expect(Manifest.parse({ ...manifest, users: null }).users).toBeNull());

test("the formats that are written can be read", () => {
  expect(FORMATS_READ).toContain(FORMAT);
  expect(FORMATS_READ).toContain(FORMAT_WITH_USER_VALUES);
});

test("user values belong to format 2, so that a Worker that cannot read them refuses the version", () => {
  const withValues = { ...manifest, format: FORMAT_WITH_USER_VALUES, user_values: file };
  expect(Manifest.parse(withValues)).toEqual(withValues);
  expect(Manifest.safeParse({ ...withValues, format: FORMAT }).success).toBe(false);
  expect(Manifest.safeParse({ ...manifest, format: FORMAT_WITH_USER_VALUES }).success).toBe(false);
});

test.each<[string, object]>([
  ["a later format", { format: 3 }],
  ["no catalog", { catalog: undefined }],
  ["a fraction of an item", { item_count: 1.5 }],
  ["a negative number of users", { user_count: -1 }],
  ["an id type that does not exist", { item_id_type: "uuid" }],
  ["a digest of another kind", { catalog: { ...file, digest: "md5:00" } }],
  ["a digest with a suffix", { catalog: { ...file, digest: `${file.digest}/x` } }],
  ["a digest with a prefix", { catalog: { ...file, digest: `x/${file.digest}` } }],
  ["a negative file size", { catalog: { ...file, size: -1 } }],
  ["a negative number of items", { item_count: -1 }],
  ["a negative golden item", { model: { ...manifest.model, golden: [{ ...manifest.model.golden[0], items: [-1] }] } }],
  ["an empty history", { model: { ...manifest.model, history_max: 0 } }],
  ["a tolerance of 0", { model: { ...manifest.model, golden_tolerance: 0 } }],
])("%s is refused", (_, change) => expect(Manifest.safeParse({ ...manifest, ...change }).success).toBe(false));

test("every object of a model has its prefix, and no other model's prefix begins with it", () => {
  const keys = [
    manifestKey("acme", "shop", "v1"),
    reportKey("acme", "shop", "v1"),
    listsKey("acme", "shop", "v1"),
    replayKey("acme", "shop", "v1"),
    blobKey("acme", "shop", file.digest),
    livePointerKey("acme", "shop"),
  ];
  expect(keys).toEqual([
    "models/acme/shop/versions/v1.json",
    "models/acme/shop/reports/v1.json",
    "models/acme/shop/lists/v1.bin",
    "models/acme/shop/replays/v1.bin",
    `models/acme/shop/blobs/${"ab".repeat(32)}`,
    "models/acme/shop/live.json",
  ]);
  for (const key of keys) expect(key.startsWith(prefixOf("acme", "shop"))).toBe(true);
  expect(livePointerKey("acme", "shop2").startsWith(prefixOf("acme", "shop"))).toBe(false);
});
