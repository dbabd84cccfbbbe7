import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { learntMarksKey } from "../../../shared/events/event-store.ts";
import type { UserId } from "../../../shared/ids.ts";
import { reportKey } from "../../../shared/manifest.ts";
import { stringAt } from "../../../shared/packed-strings.ts";
import { wilsonInterval } from "../../../trainer/choose/evaluate/wilson.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { writeLearntMarks } from "../../../trainer/store/learnt-marks.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { type ObjectStore, storedJson } from "../../../trainer/store/object-store.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { EVENTS_AT, EVENTS_SCHEMA, type GivenEvent, putEvents } from "../../fixtures/event-files.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { storedHistory } from "../../fixtures/stored-record.ts";
import { type FileTraining, trainOnFiles, USER_SALT } from "../../fixtures/train-on-files.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";

const MODEL = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
const DATA = twoTastes({ users: 60, items: 20, perUser: 8 });
const PAST: GivenEvent[] = [];
for (let user = 0; user < DATA.userCount; user++)
  for (let row = DATA.userStart[user]!; row < DATA.userStart[user + 1]!; row++)
    PAST.push({ user: `u${user}`, item: `i${stringAt(DATA.itemIds, DATA.items[row]!)}`, at: DATA.times[row]! });
const LATE = Math.max(...PAST.map(({ at }) => at!)) + 60;

let folder: string;
let store: ObjectStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "train-events-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  store = memoryStore(() => NOW);
  await setStatus(store, MODEL, { status: "SCHEDULING", nowMs: NOW });
});

async function train(more: Partial<FileTraining> = {}) {
  const { outcome, data } = await trainOnFiles({
    model: MODEL,
    folder,
    connectors: [{ type: "Events" }],
    schema: EVENTS_SCHEMA,
    store,
    nowMs: NOW,
    settings: { fitSecondsMax: 1 },
    ...more,
  });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  const { version } = outcome;
  const history = (user: string) => storedHistory(store, MODEL, version, user);
  const report = EvaluationReport.parse(storedJson((await store.get(reportKey("acme", "shop", version)))!.bytes));
  return { version, data, history, report, manifest: (await readManifest(store, MODEL, version))! };
}
const learnt = async () => JSON.parse(new TextDecoder().decode((await store.get(learntMarksKey("acme")))!.bytes));

describe("events as the only source", () => {
  test("the version has learnt the events, and its manifest says up to which", async () => {
    await putEvents(store, PAST);
    const last = PAST.length;
    const more = [
      { user: "new", item: "i1", at: LATE },
      { user: "new", item: "i2", at: LATE + 1 },
      { user: "new", item: "i3", type: "dislike", at: LATE + 2 },
      { user: "looker", item: "i3", type: "impression" },
      { user: "looker", item: "i3", type: "unknown" },
    ];
    await putEvents(store, more, { first: last + 1 });
    await putEvents(store, [{ user: "other", item: "i5", at: LATE }], { shard: "0-3" });
    const { manifest, history, data } = await train();
    expect(manifest.events).toEqual({
      meanings: {
        view: { label: true, seen: true },
        dislike: { label: false, seen: true },
        impression: { label: false, seen: false },
      },
      learnt: { "0-0": last + more.length, "0-3": 1 },
    });
    expect(data).toMatchObject({ interactions: PAST.length + 4, positives: PAST.length + 3 });
    expect(await history("new")).toEqual(["i1", "i2"]);
    expect(await history("other")).toEqual(["i5"]);
    expect(await history("looker")).toBeUndefined();
  });

  test("events of several positive types have the labels of the meanings, and count the same in the best guess", async () => {
    await putEvents(
      store,
      PAST.map((event, i) => ({ ...event, type: ["view", "view", "view", "purchase", "dislike"][i % 5]! })),
    );
    const { interaction, ...entities } = EVENTS_SCHEMA;
    const events = { ...interaction.events, purchase: { label: true, seen: true } };
    const schema = { ...entities, interaction: { ...interaction, events } };
    const { report, data } = await train({ schema, settings: { fitSecondsMax: 6 } });
    expect(data!.positives).toBe(PAST.length * 0.8);
    expect(data!.warnings).toEqual([expect.stringContaining("only 480 interactions")]);
    // The numbers of types are no values: the best guess does not count an event as the number of its type.
    const blend = report.candidates.find(({ method }) => method === "set_blend")!;
    expect(Object.keys(blend.params!).filter((name) => /\.(lambda|ratings)$/.test(name))).toEqual([
      "0.local_ridge.lambda",
    ]);
  });

  test("the marks that the edge may forget are the lowest of all stored versions", async () => {
    await putEvents(store, PAST);
    await train();
    await putEvents(store, [{ user: "u1", item: "i1", at: LATE }], { first: PAST.length + 1 });
    await putEvents(store, [{ user: "u2", item: "i1", at: LATE }], { shard: "0-1" });
    await train({ nowMs: NOW + 60_000 });
    await writeLearntMarks(store, "acme", [MODEL]);
    expect(await learnt()).toEqual({ "0-0": PAST.length });
  });

  test("after a gap nothing counts as learnt, and the record says so", async () => {
    await putEvents(store, PAST);
    await putEvents(store, [{ user: "late", item: "i1", at: LATE }], { first: PAST.length + 2 });
    const { manifest, history, data } = await train();
    expect(manifest.events!.learnt).toEqual({ "0-0": PAST.length });
    expect(await history("late")).toBeUndefined();
    expect(data!.warnings[0]).toContain("Events are missing before customers/acme/events/files/0-0/");
  });
});

describe("too few events are no error of the model", () => {
  test.each<[string, GivenEvent[], string]>([
    ["none", [], "No event that this model listens to"],
    ["none of a known type", [{ user: "u", item: "i", type: "unknown" }], "No event that this model listens to"],
    ["one item", [{ user: "u", item: "i" }], "All events are about one item"],
    [
      "no positive one",
      [
        { user: "u", item: "i", type: "dislike" },
        { user: "u", item: "j", type: "dislike" },
      ],
      "No event of a positive type",
    ],
  ])("%s", async (_, events, missing) => {
    if (events.length > 0) await putEvents(store, events);
    await expect(train()).rejects.toMatchObject({
      code: "not_enough_events",
      retryable: false,
      message: expect.stringContaining(missing),
    });
  });

  test("two items are enough for popular lists", async () => {
    await putEvents(store, [
      { user: "u", item: "i" },
      { user: "u", item: "j", at: EVENTS_AT + 1 },
    ]);
    const { manifest, data } = await train();
    expect([manifest.model.method, manifest.item_count, data!.events]).toEqual(["popularity", 2, 2]);
  });
});

test("erased users are not learnt, and more events than memory are read through their files", async () => {
  await putEvents(store, PAST);
  const hashes = [await erasureHash(USER_SALT, "u0" as UserId)];
  await addErasedUsers(store, "acme", { salt: USER_SALT, hashes });
  const { history: all } = await train();
  const { history: prepared, manifest, data } = await train({ nowMs: NOW + 1000, settings: { memoryMbMax: 0.0075 } });
  expect(data!.warnings[0]).toContain("DuckDB prepared them");
  expect(manifest.events!.learnt).toEqual({ "0-0": PAST.length });
  for (const history of [all, prepared]) {
    expect(await history("u0")).toBeUndefined();
    expect((await history("u1"))!.length).toBeGreaterThan(0);
  }
});

describe("the report says what lists led to", () => {
  const of = (version: string, list: string, ...types: string[]): GivenEvent[] =>
    types.map((type) => ({ user: "u0", item: "i1", type, at: LATE, rankId: `${version}.${list}` }));

  test("by version and type, of the lists that were shown", async () => {
    await putEvents(store, PAST);
    const { version } = await train();
    const events = [
      ...of(version, "a", "impression", "impression", "view", "view"),
      ...of(version, "b", "impression"),
      ...of(version, "c", "dislike", "impression"),
      ...of(version, "d", "view"), // nothing says that this list was shown
      ...of("unknown", "e", "impression", "view"),
      ...of(version, "f", "other"),
    ];
    await putEvents(store, events, { first: PAST.length + 1 });
    const { report } = await train({ nowMs: NOW + 60_000 });
    expect(report.attribution).toEqual([
      {
        version,
        lists: 3,
        events: { view: { lists: 1, ...wilsonInterval(1, 3) }, dislike: { lists: 1, ...wilsonInterval(1, 3) } },
      },
    ]);
  });

  test("and nothing where no event says that a list was shown", async () => {
    await putEvents(store, PAST);
    const { version } = await train();
    await putEvents(store, of(version, "a", "view"), { first: PAST.length + 1 });
    expect((await train({ nowMs: NOW + 60_000 })).report.attribution).toBeUndefined();
  });
});

/** Writes the past into the file of the other source. */
async function writePast(idOf: (item: string) => string): Promise<void> {
  const rows = PAST.map(({ user, item, at }) => `${user},${idOf(item)},${at},1`);
  await writeFile(join(folder, "interactions.csv"), ["user,item,at,label", ...rows].join("\n"));
}

test("events join the rows of another source", async () => {
  await writePast((item) => item);
  await putEvents(store, [
    { user: "u0", item: "i1", at: LATE },
    { user: "new", item: "brand-new", at: LATE },
  ]);
  const before = (await train(joined(undefined))).history;
  const { manifest, history, data } = await train(joined(EVENTS_SCHEMA.interaction.events));
  expect(manifest.events!.learnt).toEqual({ "0-0": 2 });
  expect(data!.interactions).toBe(PAST.length + 2);
  expect(await history("u0")).toEqual([...(await before("u0"))!, "i1"]);
  expect(await history("new")).toEqual(["brand-new"]);
  // The store prepares more rows than memory holds. Users and items that only events know are there too.
  const settings = { memoryMbMax: 0.0075 };
  const large = await train({ ...joined(EVENTS_SCHEMA.interaction.events), nowMs: NOW + 2000, settings });
  expect(large.data!.warnings[0]).toContain("DuckDB prepared them");
  expect(large.manifest.item_count).toBe(manifest.item_count);
  expect((await large.history("u0"))!.at(-1)).toBe("i1");
  expect(await large.history("new")).toEqual(["brand-new"]);
});

test("a file of types of events is learnt with what types count, also beyond memory", async () => {
  const rows = PAST.map(({ user, item, at }, i) => `${user},${item},${at},${["purchase", "cart", "view"][i % 3]}`);
  await writeFile(join(folder, "interactions.csv"), ["user,item,at,label", ...rows].join("\n"));
  await putEvents(store, [{ user: "u0", item: "i1", at: LATE }]);
  const { connectors, schema } = joined(EVENTS_SCHEMA.interaction.events);
  const label = { type: "Events", name: "label", positive: ["purchase", "cart"] };
  const options = { connectors, schema: { ...schema, interaction: { ...schema.interaction, label } } };
  const { data, history } = await train(options);
  const positives = rows.filter((row) => !row.endsWith("view")).length + 1;
  expect(data).toMatchObject({ interactions: PAST.length + 1, positives });
  const large = await train({ ...options, nowMs: NOW + 2000, settings: { memoryMbMax: 0.0075 } });
  expect(large.data!.warnings[0]).toContain("DuckDB prepared them");
  expect(large.data!.positives).toBe(positives - 1); // without those of joined events
  expect((await large.history("u0"))!.at(-1)).toBe((await history("u0"))!.at(-1));
});

test("joined events name no session, and are one while half an hour at most lies between them", async () => {
  const rows = PAST.map(({ user, item, at }, i) => `${user},${item},${at},1,${Math.floor(i / 4)}`);
  await writeFile(join(folder, "interactions.csv"), ["user,item,at,label,visit", ...rows].join("\n"));
  const at = [0, 1800, 3601, 3602].map((seconds) => LATE + seconds);
  await putEvents(
    store,
    at.map((at, i) => ({ user: "u0", item: `i${i}`, at })),
  );
  const { connectors, schema } = joined(EVENTS_SCHEMA.interaction.events);
  const options = { connectors, schema: { ...schema, interaction: { ...schema.interaction, session_id: "visit" } } };
  const { data, report, manifest, history } = await train(options);
  expect(data!.sessions).toBe(Math.ceil(PAST.length / 4) + 2);
  expect(report.split.kind).toBe("sessions");
  expect(manifest.sessions).toEqual({ repeats: false });
  expect((await history("u0"))!.at(-1)).toBe("i3");
  const settings = { memoryMbMax: 0.0135 };
  const large = await train({ ...options, nowMs: NOW + 2000, settings });
  expect(large.data!.warnings[0]).toContain("DuckDB prepared them");
  expect(large.data!.sessions).toBeUndefined();
  expect(large.report.split.kind).toBe("sessions");
  expect((await large.history("u0"))!.at(-1)).toBe("i3");
});

test("events of items that cannot be integers do not join interactions with items that are", async () => {
  await writePast((item) => item.slice(1));
  const { at } = PAST[0]!;
  const items = ["7", "007", "i7", "8000"];
  await putEvents(
    store,
    items.map((item) => ({ user: "new", item, at: at! })),
  );
  const { manifest, history, data } = await train(joined(EVENTS_SCHEMA.interaction.events));
  expect(manifest.item_id_type).toBe("integer");
  expect((await history("new"))!.toSorted()).toEqual(["7", "8000"]);
  const settings = { memoryMbMax: 0.0075 };
  const large = await train({ ...joined(EVENTS_SCHEMA.interaction.events), nowMs: NOW + 1000, settings });
  expect(large.manifest).toMatchObject({ item_count: manifest.item_count, item_id_type: "integer" });
  expect(["7", "8000"]).toContain((await large.history("new"))![0]);
  expect(data!.warnings[0]).toContain("2 events were left out because their item id is not an integer");
});

const joined = (events: object | undefined) => ({
  connectors: [{ id: "files", type: "File", location: "*.csv" }, ...(events ? [{ id: "live", type: "Events" }] : [])],
  schema: {
    user: { id: "user" },
    item: { id: "item" },
    interaction: {
      created_at: "at",
      label: { type: "Binary", name: "label" },
      source: { connector_id: "files", query: "SELECT * FROM interactions" },
      ...(events && { events }),
    },
  },
});
