import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeCatalog } from "../../../shared/catalog.ts";
import type { LivePointer } from "../../../shared/live-pointer.ts";
import { blobKey, type Descriptor, livePointerKey, type Manifest, manifestKey } from "../../../shared/manifest.ts";
import { packStrings } from "../../../shared/packed-strings.ts";
import { encodeUserValues } from "../../../shared/user-values.ts";
import type { BuiltVersion } from "../../../trainer/store/version-files.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
let built: BuiltVersion;
let names = 0;
beforeAll(async () => {
  edge = await startEdge();
  built = await edge.publish();
});
afterAll(() => edge.stop());

const describe = (bytes: Uint8Array): Descriptor => ({
  media_type: "x",
  size: bytes.length,
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
});
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const put = async (key: string, bytes: Uint8Array) => {
  await edge.store.delete(key);
  await edge.store.putIfAbsent(key, bytes, "application/octet-stream");
};

/** Makes a model with the shop's files and its manifest after a change. `extra` are additional files. */
async function publishManifest(
  change: (manifest: Manifest) => unknown,
  extra: readonly Uint8Array[] = [],
): Promise<string> {
  const modelName = `changed-${names++}`;
  for (const file of [...built.files.map(({ body }) => body), ...extra]) {
    const bytes = file instanceof Blob ? new Uint8Array(await file.arrayBuffer()) : file;
    await put(blobKey("acme", modelName, describe(bytes).digest), bytes);
  }
  const manifest = bytesOf(change({ ...structuredClone(built.manifest), model_name: modelName }));
  await put(manifestKey("acme", modelName, "v1"), manifest);
  const live = { version: "v1", manifest: describe(manifest) };
  const pointer: LivePointer = { format: 1, status: "ACTIVE", live, updated_at: "2026-01-01T00:00:00Z" };
  await put(livePointerKey("acme", modelName), bytesOf(pointer));
  return modelName;
}
const refusalOf = (modelName: string) =>
  edge.log
    .map((line) => JSON.parse(line))
    .find(({ event, model }) => event === "version_refused" && model === modelName)?.error;

test("a manifest with a field that this release does not know ranks", async () => {
  const modelName = await publishManifest((manifest) => ({ ...manifest, added_later: 1 }));
  expect((await edge.call(`/v0/models/${modelName}/rank`)).status).toBe(200);
});

const otherCatalog = encodeCatalog({ itemIds: packStrings(["a", "b"]), itemIdType: "string" });
const otherValues = encodeUserValues({ itemCount: 2, base: new Float32Array(2), ratios: [new Float32Array(2)] });
const faults: [string, (manifest: Manifest) => unknown, string][] = [
  ["a later format", (m) => ({ ...m, format: 99 }), "this release reads 1 and 2, found 99"],
  ["another customer's name", (m) => ({ ...m, customer: "globex" }), "found another one's manifest"],
  [
    "a catalog of two items for eight",
    (m) => ({ ...m, catalog: describe(otherCatalog) }),
    "catalog: items: the manifest says 8, the file 2",
  ],
  ["another id type", (m) => ({ ...m, item_id_type: "integer" }), "catalog: item id type"],
  [
    "another number of users",
    (m) => ({ ...m, user_count: 4 }),
    "user directory: users: the manifest says 4, the file 3",
  ],
  [
    "too many page files",
    (m) => ({ ...m, users: { ...m.users, pages: [m.users!.pages[0], m.users!.pages[0]] } }),
    "page files",
  ],
  [
    "user values of two items for eight",
    (m) => ({ ...m, format: 2, user_values: describe(otherValues) }),
    "user values: items: the manifest says 8, the file 2",
  ],
  [
    "user values in a version of format 1",
    (m) => ({ ...m, user_values: describe(otherValues) }),
    "belongs to format 2",
  ],
  ["attributes in the catalog's place", (m) => ({ ...m, catalog: m.attributes }), 'found "attributes"'],
  [
    "weights in the graph's place",
    (m) => ({ ...m, model: { ...m.model, graph: m.model.weights[0]!.file } }),
    "scoring graph",
  ],
  ["no weights", (m) => ({ ...m, model: { ...m.model, weights: [] } }), "scoring graph"],
  [
    "weights of half the size",
    (m) => ({ ...m, model: { ...m.model, weights: [{ ...m.model.weights[0], file: describe(new Uint8Array(16)) }] } }),
    "scoring graph",
  ],
  [
    "golden scores that the graph does not give",
    (m) => ({ ...m, model: { ...m.model, golden: [{ items: [0], ages_days: [0], scores: [[1, 0.6]] }] } }),
    "golden score of item 1: expected 0.6, found 0.5",
  ],
  [
    "a golden score of an item that does not exist",
    (m) => ({ ...m, model: { ...m.model, golden: [{ items: [0], ages_days: [0], scores: [[8, 0.5]] }] } }),
    "golden score of item 8",
  ],
];
test.each(faults)("%s is refused", async (_, change, reason) => {
  const modelName = await publishManifest(change, [otherCatalog, otherValues, new Uint8Array(16)]);
  const answer = await edge.call(`/v0/models/${modelName}/rank`);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await answer.json()).toMatchObject({ code: "artifact_unavailable" });
  expect(refusalOf(modelName)).toContain(reason);
});

test("golden scores within the tolerance pass: 0.5 for 0.5004, the largest score", async () => {
  const near = (m: Manifest) => ({
    ...m,
    model: { ...m.model, golden: [{ items: [0], ages_days: [0], scores: [[1, 0.5004]] }] },
  });
  expect((await edge.call(`/v0/models/${await publishManifest(near)}/rank`)).status).toBe(200);
});
test("a version without attributes and users ranks; its id column is filterable, other attributes are unknown", async () => {
  const modelName = await publishManifest((m) => ({ ...m, attributes: null, users: null, user_count: 0 }));
  const ask = (retrieval: object) => edge.call(`/v0/models/${modelName}/rank`, { body: { user_id: "ann", retrieval } });
  expect(await (await ask({ item_id: { $in: ["i3"] } })).json()).toEqual(["i3"]);
  expect(await (await ask({ category: "hats" })).json()).toMatchObject({ code: "unknown_attribute" });
});
