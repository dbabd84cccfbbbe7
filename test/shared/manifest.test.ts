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
  ["an unknown field", { extra: 1 }],
  ["no catalog", { catalog: undefined }],
  ["half an item", { item_count: 1.5 }],
  ["fewer than no users", { user_count: -1 }],
  ["an id type that does not exist", { item_id_type: "uuid" }],
  ["a digest of another kind", { catalog: { ...file, digest: "md5:00" } }],
  ["more than a digest", { catalog: { ...file, digest: `${file.digest}/x` } }],
  ["a digest behind something else", { catalog: { ...file, digest: `x/${file.digest}` } }],
  ["a file of less than no bytes", { catalog: { ...file, size: -1 } }],
  ["fewer than no items", { item_count: -1 }],
  ["a file that is told more of", { catalog: { ...file, offset: 0 } }],
  ["a model that is told more of", { model: { ...manifest.model, quantized: true } }],
  ["weights that are told more of", { model: { ...manifest.model, weights: [{ path: "w", file, offset: 8 }] } }],
  ["users that are told more of", { users: { ...manifest.users, salt: "00" } }],
  [
    "a golden item before the first",
    { model: { ...manifest.model, golden: [{ ...manifest.model.golden[0], items: [-1] }] } },
  ],
  ["a history of nothing", { model: { ...manifest.model, history_max: 0 } }],
  ["no tolerance at all", { model: { ...manifest.model, golden_tolerance: 0 } }],
])("%s is refused", (_, change) => expect(Manifest.safeParse({ ...manifest, ...change }).success).toBe(false));

test("every object of a model has its prefix, and no other model's prefix begins with it", () => {
  const keys = [
    manifestKey("acme", "shop", "v1"),
    reportKey("acme", "shop", "v1"),
    listsKey("acme", "shop", "v1"),
    blobKey("acme", "shop", file.digest),
    livePointerKey("acme", "shop"),
  ];
  expect(keys).toEqual([
    "models/acme/shop/versions/v1.json",
    "models/acme/shop/reports/v1.json",
    "models/acme/shop/lists/v1.bin",
    `models/acme/shop/blobs/${"ab".repeat(32)}`,
    "models/acme/shop/live.json",
  ]);
  for (const key of keys) expect(key.startsWith(prefixOf("acme", "shop"))).toBe(true);
  expect(livePointerKey("acme", "shop2").startsWith(prefixOf("acme", "shop"))).toBe(false);
});
