import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decodeAttributes } from "../../../shared/attributes.ts";
import { decodeCatalog } from "../../../shared/catalog.ts";
import { userHash } from "../../../shared/hash.ts";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import { countsIn, countsRange } from "../../../shared/item-counts.ts";
import { Manifest } from "../../../shared/manifest.ts";
import { leastMemoryBytes } from "../../../shared/memory-cost.ts";
import { packStrings } from "../../../shared/packed-strings.ts";
import { decodeUserDirectory } from "../../../shared/user-records.ts";
import { encodeUserValues } from "../../../shared/user-values.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { buildVersion, userSalt, usersInManifest, type VersionInput } from "../../../trainer/publish/build-version.ts";
import type { Dataset } from "../../../trainer/read/dataset/dataset.ts";
import { historiesOf } from "../../../trainer/read/spool/user-histories.ts";
import type { ObjectBody } from "../../../trainer/store/object-store.ts";
import { type BuiltVersion, describe, descriptorsOf } from "../../../trainer/store/version-files.ts";
import { ease } from "../../fixtures/ease.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";
import { decodeUserPage } from "../../fixtures/user-page.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "build-"));
});
afterEach(() => rm(directory, { recursive: true }));

const colours: Dataset["itemAttributes"] = [
  { name: "size", type: "Numerical", values: Float64Array.from({ length: 30 }, (_, item) => item) },
];
const dataset: Dataset = { ...twoTastes({ users: 40, items: 30, perUser: 8 }), itemAttributes: colours };

async function inputOf({ dataset: data = dataset, ...more }: Partial<VersionInput> = {}): Promise<VersionInput> {
  const fitted = await ease.fit(data, ease.grid(data)[0]!, fitContext());
  return {
    customer: "acme",
    modelName: "films",
    itemIdColumn: "item_id",
    createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    dataset: data,
    exported: fitted.export({ weightBytesMax: 1e8 }),
    method: fitted.method,
    historyMax: fitted.historyMax,
    workDirectory: join(directory, "work"),
    ...more,
  };
}
const bytesOf = async (body: ObjectBody) => (body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body);
const fileOf = async (built: BuiltVersion, digest: string) =>
  bytesOf(built.files.find((file) => file.descriptor.digest === digest)!.body);

test("what values say is a file of a version of format 2, and users are those that were written", async () => {
  const input = await inputOf();
  const userValues = encodeUserValues({ itemCount: 30, base: new Float32Array(30), ratios: [new Float32Array(30)] });
  const histories = historiesOf(dataset, dataset.userIds, userSalt(input));
  const built = await buildVersion({ ...input, userValues, users: { ...histories, userCount: 99 } });
  expect([built.manifest.format, built.manifest.user_count]).toEqual([2, 40]);
  expect(built.manifest.user_values!.media_type).toBe("application/vnd.shortlist.user-values");
  expect(await fileOf(built, built.manifest.user_values!.digest)).toEqual(userValues);
  expect(decodeUserDirectory((await fileOf(built, built.manifest.users!.directory.digest))!).userCount).toBe(40);
  expect(built.files.map((file) => file.descriptor.digest).sort()).toEqual(
    descriptorsOf(built.manifest)
      .map((file) => file.digest)
      .sort(),
  );
  expect((await buildVersion(input)).manifest).not.toHaveProperty("user_values");
});

test("a small directory of users is in the manifest too, and a large one is not", async () => {
  const { directory, directory_base64 } = (await buildVersion(await inputOf())).manifest.users!;
  expect(await describe(Buffer.from(directory_base64!, "base64"), directory.media_type)).toEqual(directory);
  expect(usersInManifest(directory, new Uint8Array(12 * 1024 + 1))).toEqual({ directory });
});

test("every file that the manifest names is there, as it is named, and none besides", async () => {
  const built = await buildVersion(await inputOf());
  expect(Manifest.parse(built.manifest)).toEqual(built.manifest);
  const named = descriptorsOf(built.manifest).map((file) => file.digest);
  expect(built.files.map((file) => file.descriptor.digest).sort()).toEqual(named.sort());
  for (const { descriptor, body } of built.files)
    expect(await describe(body, descriptor.media_type)).toEqual(descriptor);
});

test("the files say what the dataset says", async () => {
  const built = await buildVersion(await inputOf());
  const { manifest } = built;
  expect(manifest).toMatchObject({
    item_count: 30,
    user_count: 40,
    item_id_type: "integer",
    item_id_column: "item_id",
  });
  const catalog = decodeCatalog(await fileOf(built, manifest.catalog.digest));
  expect(catalog.indexOf("1007" as ItemId)).toBe(7);
  const attributes = decodeAttributes(await fileOf(built, manifest.attributes!.digest));
  expect(attributes.columns.has("size")).toBe(true);

  const users = decodeUserDirectory(await fileOf(built, manifest.users!.directory.digest));
  const pages = await Promise.all(manifest.users!.pages.map((page) => fileOf(built, page.digest)));
  for (let user = 0; user < dataset.userCount; user++) {
    const hash = await userHash(users.salt, `user-${user}`);
    const place = users.find(hash)!;
    const page = pages[place.file]!.subarray(place.offset, place.offset + place.length);
    const record = decodeUserPage(page, hash, manifest.item_count)!;
    const seen = dataset.items.subarray(dataset.userStart[user], dataset.userStart[user + 1]);
    expect([...record.items].sort()).toEqual([...seen].sort());
    for (const item of seen) expect(record.hasSeen(item as ItemIndex)).toBe(true);
  }
});

test("a record has a hundred entries if the model reads fewer, and 500 where items repeat", async () => {
  const data = twoTastes({ users: 2, items: 300, perUser: 130 });
  const repeating = { ...data, items: data.items.map((item) => item % 40) };
  const entriesOf = async (more: Partial<VersionInput>) => {
    const built = await buildVersion(await inputOf(more));
    const { users } = built.manifest;
    const { salt, find } = decodeUserDirectory(await fileOf(built, users!.directory.digest));
    const hash = await userHash(salt, "user-1");
    const { offset, length } = find(hash)!;
    const page = (await fileOf(built, users!.pages[0]!.digest)).subarray(offset, offset + length);
    expect(built.manifest.model.history_max).toBe(more.historyMax);
    return decodeUserPage(page, hash, built.manifest.item_count)!.items.length;
  };
  expect(await entriesOf({ dataset: data, historyMax: 1 })).toBe(100);
  expect(await entriesOf({ dataset: data, historyMax: 120 })).toBe(120);
  expect(await entriesOf({ dataset: repeating, historyMax: 1 })).toBe(130);
});

test("an item's counts are those of the dataset", async () => {
  const built = await buildVersion(await inputOf());
  const file = await fileOf(built, built.manifest.item_counts!.digest);
  const [interactions, positives] = [new Array(30).fill(0), new Array(30).fill(0)];
  for (const [at, item] of dataset.items.entries()) {
    interactions[item]++;
    positives[item] += dataset.positive[at]!;
  }
  for (let item = 0; item < 30; item++) {
    const { offset, length } = countsRange(item as ItemIndex);
    const counts = countsIn(file.subarray(offset, offset + length), item as ItemIndex);
    expect(counts).toEqual({ interactions: interactions[item], positives: positives[item] });
  }
});

test("the golden scores are the served model's", async () => {
  const input = await inputOf();
  const { manifest } = await buildVersion(input);
  const scorer = await openScorer(input.exported, dataset.itemCount);
  expect(manifest.model.golden.length).toBeGreaterThan(1);
  for (const golden of manifest.model.golden) {
    const scores = await scorer.score({ items: golden.items as ItemIndex[], agesDays: golden.ages_days });
    for (const [item, score] of golden.scores) expect(scores[item]).toBe(score);
  }
  await scorer.close();
});

test("the same input gives the same bytes and the same name; another time gives another salt and name", async () => {
  const [once, again] = [await buildVersion(await inputOf()), await buildVersion(await inputOf())];
  expect(again.version).toBe(once.version);
  expect(again.manifest).toEqual(once.manifest);
  const later = await buildVersion(await inputOf({ createdAtMs: Date.UTC(2026, 0, 3) }));
  expect(later.version > once.version).toBe(true);
  expect(later.manifest.users!.directory.digest).not.toBe(once.manifest.users!.directory.digest);
  expect(later.manifest.catalog).toEqual(once.manifest.catalog);
});

test("the name is the time and the beginning of the manifest's digest", async () => {
  const { version } = await buildVersion(await inputOf());
  expect(version).toMatch(/^20260102T030405006Z-[0-9a-f]{8}$/);
});

test("without attributes there is no file of them", async () => {
  const built = await buildVersion(await inputOf({ dataset: { ...dataset, itemAttributes: [] } }));
  expect(built.manifest.attributes).toBeNull();
});

test("the recipe, counts of choices and statistics for similar items are left out where they would not fit into an isolate", async () => {
  const whole = await buildVersion(await inputOf());
  const needed = leastMemoryBytes([whole.manifest]);
  const versionWith = async (edgeMemoryBytes: number) => buildVersion(await inputOf({ edgeMemoryBytes }));
  expect((await versionWith(needed)).manifest).toEqual(whole.manifest);
  const less = await versionWith(needed - 1);
  expect(less.manifest).toEqual({ ...whole.manifest, score_recipe: undefined });
  expect(less.files).toHaveLength(whole.files.length - 1);
  const least = await versionWith(0);
  expect(least.manifest).toEqual({ ...less.manifest, similarity: undefined, recent_choices: undefined });
  expect(least.files).toHaveLength(whole.files.length - 3);
});

test("what the edge would refuse is refused here", async () => {
  const input = inputOf({ itemIdColumn: "x".repeat(200) });
  await expect(buildVersion(await input)).rejects.toMatchObject({ code: "manifest_invalid" });
});

test("users who are not in the dataset have their records all the same", async () => {
  const salt = userSalt({ customer: "acme", modelName: "films", createdAtMs: 1 });
  const everyone = packStrings(["user-0", "a stranger"]);
  const users = historiesOf({ ...dataset, userCount: 2, userStart: Uint32Array.of(0, 3, 5) }, everyone, salt);
  const built = await buildVersion(await inputOf({ users }));
  expect(built.manifest.user_count).toBe(2);
  const directory = decodeUserDirectory(await fileOf(built, built.manifest.users!.directory.digest));
  const page = await fileOf(built, built.manifest.users!.pages[0]!.digest);
  for (const [name, from, to] of [
    ["user-0", 0, 3],
    ["a stranger", 3, 5],
  ] as const) {
    const hash = await userHash(directory.salt, name);
    const { offset, length } = directory.find(hash)!;
    const record = decodeUserPage(page.subarray(offset, offset + length), hash, 30)!;
    expect(record.items).toEqual([...dataset.items.subarray(from, to)]);
  }
});
