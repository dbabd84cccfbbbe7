import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeCatalog } from "../../../shared/catalog.ts";
import type { LivePointer } from "../../../shared/live-pointer.ts";
import { blobKey, type Descriptor, livePointerKey, type Manifest, manifestKey } from "../../../shared/manifest.ts";
import { packStrings } from "../../../shared/packed-strings.ts";
import { encodeUserValues } from "../../../shared/user-values.ts";
import type { BuiltVersion } from "../../../trainer/store/version-files.ts";
import { type Call, type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const otherCatalog = encodeCatalog({ itemIds: packStrings(["a", "b"]), itemIdType: "string" });
const otherValues = encodeUserValues({ itemCount: 2, base: new Float32Array(2), ratios: [new Float32Array(2)] });
/** The models that have the files of the shop's version. A model that serves a version would serve it instead of a refused one. */
const MODELS = ["served", "earlier", "refused", "near", "bare", "misled"];

let edge: EdgeWorld;
let built: BuiltVersion;
let names = 0;
beforeAll(async () => {
  edge = await startEdge();
  built = await edge.publish();
  const extra = [otherCatalog, otherValues, new Uint8Array(16)];
  for (const file of [...built.files.map(({ body }) => body), ...extra]) {
    const bytes = file instanceof Blob ? new Uint8Array(await file.arrayBuffer()) : file;
    const { digest } = describe(bytes);
    await Promise.all(MODELS.map((modelName) => put(blobKey("acme", modelName, digest), bytes)));
  }
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

/** Publishes the shop's version after a change of its manifest, as a version of one of two models that have its files. */
async function publishManifest(
  modelName: string,
  change: (manifest: Manifest) => unknown,
  inPointer: { manifest_json?: string } = {},
): Promise<string> {
  const version = `v${names++}`;
  const manifest = bytesOf(change({ ...structuredClone(built.manifest), model_name: modelName }));
  await put(manifestKey("acme", modelName, version), manifest);
  const live = { version, manifest: describe(manifest) };
  const pointer: LivePointer = { format: 1, status: "ACTIVE", live, updated_at: "2026-01-01T00:00:00Z", ...inPointer };
  await put(livePointerKey("acme", modelName), bytesOf(pointer));
  return version;
}
const rank = (modelName: string, call: Call = {}) => edge.call(`/v0/models/${modelName}/rank`, call);
const refusalOf = (version: string) =>
  edge.log
    .map((line) => JSON.parse(line))
    .find((entry) => entry.event === "version_refused" && entry.version === version)?.error;

test("a manifest with a field that this release does not know ranks", async () => {
  const version = await publishManifest("served", (manifest) => ({ ...manifest, added_later: 1 }));
  const answer = await rank("served");
  expect([answer.status, answer.headers.get("x-model-version")]).toEqual([200, version]);
});

test("a manifest without the directory of the users, as of an earlier release, ranks", async () => {
  const version = await publishManifest("earlier", ({ users, ...manifest }) => {
    const { directory_base64: _, ...files } = users!;
    return { ...manifest, users: files };
  });
  const answer = await edge.call("/v0/models/earlier/rank?user_id=ann");
  expect([answer.status, answer.headers.get("x-model-version")]).toEqual([200, version]);
});

test("a pointer with the manifest of another version ranks with its own version", async () => {
  const other = JSON.stringify({ ...built.manifest, model_name: "misled", item_count: 1 });
  const version = await publishManifest("misled", (manifest) => manifest, { manifest_json: other });
  const answer = await rank("misled");
  expect([answer.status, answer.headers.get("x-model-version")]).toEqual([200, version]);
});

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
  ["a page as the directory", (m) => ({ ...m, users: { ...m.users, directory_base64: "AAAA" } }), "user-directory"],
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
  const version = await publishManifest("refused", change);
  const answer = await rank("refused");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await answer.json()).toMatchObject({ code: "artifact_unavailable" });
  expect(refusalOf(version)).toContain(reason);
});

test("golden scores within the tolerance pass: 0.5 for 0.5004, the largest score", async () => {
  const near = (m: Manifest) => ({
    ...m,
    model: { ...m.model, golden: [{ items: [0], ages_days: [0], scores: [[1, 0.5004]] }] },
  });
  const version = await publishManifest("near", near);
  const answer = await rank("near");
  expect([answer.status, answer.headers.get("x-model-version")]).toEqual([200, version]);
});
test("a version without attributes and users ranks; its id column is filterable, other attributes are unknown", async () => {
  await publishManifest("bare", (m) => ({ ...m, attributes: null, users: null, user_count: 0 }));
  const ask = (retrieval: object) => rank("bare", { body: { user_id: "ann", retrieval } });
  expect(await (await ask({ item_id: { $in: ["i3"] } })).json()).toEqual(["i3"]);
  expect(await (await ask({ category: "hats" })).json()).toMatchObject({ code: "unknown_attribute" });
});
