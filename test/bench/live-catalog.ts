import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { type Bench, type BenchContext, type Figure, quantile } from "./bench.ts";
import { publishWorld, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, RARITIES } from "./edge-scale-world.ts";
import { type ItemTimelines, itemTimelines } from "./item-timelines.ts";
import { pause } from "./load-loops.ts";

const ITEMS = 10_000;
const USERS = 5000;
const WEIGHT_BYTES_MAX = 24 * 2 ** 20;
const SECONDS = 600;
const ANSWERS = 1_000_000;
const SHOWN_WITHIN_MS = 10_000;
const LIMIT = 20;
const CONNECTIONS = 6;
/** Each changes items of its own, so that the order of an item's changes is known. */
const WRITERS = 2;
const CHANGE_EVERY_MS = 150;
const CHANGED_AT_ONCE_MAX = 50;
/** Most changed items are in recent answers. */
const RECENT_FRACTION = 0.7;
const RECENT_MAX = 400;
/** The bucket of the second edge is so far away. */
const FAR_MS = 60;
/** Now and then, that bucket cannot be read for a while. */
const OUTAGE_EVERY_MS = 60_000;
const OUTAGE_MS = 20_000;

type Running = {
  readonly context: BenchContext;
  readonly key: string;
  /** The first one has the bucket and the object with the changes. */
  readonly edges: readonly TimedEdge[];
  readonly items: ItemTimelines;
  readonly recent: number[];
  readonly tally: { answers: number; refused: number; changes: number; wrong: number };
  /** For hidden items that an answer still had: the time since they were acknowledged as hidden. */
  readonly shownForMs: number[];
  isOver: boolean;
};

/**
 * Two edges rank while two writers hide and show items and change their values. Every answer is checked against what may be in it
 * (item-timelines.ts). `--seconds 60` and `--answers 1e5` end it earlier; both must be reached.
 */
export const liveCatalog: Bench = async (context) => {
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-live-catalog-"));
  try {
    const world = drawnWorld({
      label: "live-catalog",
      itemCount: ITEMS,
      userCount: USERS,
      weightBytesMax: WEIGHT_BYTES_MAX,
    });
    await publishWorld(r2Directory, world);
    return await withEdge({ r2Directory }, (near) =>
      withEdge({ farBucketUrl: near.workerUrl }, async (far) => {
        const { key } = await near.issueKey();
        const initial = (item: number) => ({ hidden: false, rarity: (item * 7919) % RARITIES });
        const run: Running = {
          context,
          key,
          edges: [near, far],
          items: itemTimelines(initial, SHOWN_WITHIN_MS),
          recent: [],
          tally: { answers: 0, refused: 0, changes: 0, wrong: 0 },
          shownForMs: [],
          isOver: false,
        };
        await underChanges(run);
        return figuresOf(run);
      }),
    );
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
};

async function underChanges(run: Running): Promise<void> {
  const { flags, say } = run.context;
  const seconds = Number(flags.get("seconds") ?? SECONDS);
  const answers = Number(flags.get("answers") ?? ANSWERS);
  const begin = performance.now();
  const works = [
    ...Array.from({ length: WRITERS }, (_, writer) => write(run, writer)),
    ...run.edges.flatMap((edge, at) =>
      Array.from({ length: CONNECTIONS }, (_, i) => callAgain(run, edge, seededRandom(100 * at + i))),
    ),
    disturb(run),
  ];
  const working = Promise.all(works);
  working.catch(() => {
    run.isOver = true; // thrown below
  });
  for (let nextSayMs = 60_000; !run.isOver; ) {
    await pause(500);
    const elapsedMs = performance.now() - begin;
    if (elapsedMs > nextSayMs) {
      say(`  ${Math.round(elapsedMs / 1000)} s: ${JSON.stringify(run.tally)}`);
      nextSayMs += 60_000;
    }
    run.isOver ||= elapsedMs > 1000 * seconds && run.tally.answers >= answers;
  }
  await working;
}

/** Changes some items again and again. */
async function write(run: Running, writer: number): Promise<void> {
  const { edges, key, items, recent, tally, context } = run;
  const random = seededRandom(writer + 1);
  const drawn = () =>
    random() < RECENT_FRACTION && recent.length > 0
      ? recent[Math.floor(random() * recent.length)]!
      : Math.floor(random() * ITEMS);
  while (!run.isOver) {
    const count = 1 + Math.floor(random() * CHANGED_AT_ONCE_MAX);
    const chosen = new Set(Array.from({ length: count }, drawn).filter((item) => item % WRITERS === writer));
    const changes = [...chosen].map((item) => {
      const { hidden, rarity } = items.latest(item);
      return random() < 0.5
        ? { item, hidden: !hidden, rarity }
        : { item, hidden, rarity: Math.floor(random() * RARITIES) };
    });
    const done = changes.map(({ item, ...state }) => items.send(item, state, performance.now()));
    const body = {
      items: changes.map(({ item, hidden, rarity }) => ({ item_id: item + 1, hidden, attributes: { rarity } })),
    };
    if (changes.length > 0) {
      const answer = await edges[0]!.call("/v0/models/scale/items", { method: "PATCH", key, body });
      if (answer.status === 200) for (const acknowledge of done) acknowledge(performance.now());
      else if (answer.status === 503)
        tally.refused++; // it may be stored all the same
      else context.fail(`a change was answered with ${answer.status}: ${await answer.text()}`);
    }
    tally.changes += changes.length;
    await pause(CHANGE_EVERY_MS);
  }
}

/** Ranks again and again, and checks each answer. */
async function callAgain(run: Running, { http }: TimedEdge, random: () => number): Promise<void> {
  const { key, tally } = run;
  while (!run.isOver) {
    const below = random() < 0.5 ? RARITIES : Math.ceil(random() * RARITIES);
    const body = {
      limit: LIMIT,
      ...(random() < 0.8 && { user_id: String(Math.floor(random() * USERS)) }),
      ...(below < RARITIES && { retrieval: { rarity: { $lt: below } } }),
    };
    const calledMs = performance.now();
    const { status, text } = await http.call("/v0/models/scale/rank", { headers: { "x-api-key": key }, body });
    const call = { below, calledMs, answeredMs: performance.now() };
    if (status === 200)
      check(
        run,
        call,
        (JSON.parse(text) as string[]).map((id) => Number(id) - 1),
      );
    else if (status === 503) {
      tally.refused++;
      await pause(50);
    } else throw new Error(`The edge answered ${status}: ${text}`);
  }
}

type Called = { readonly below: number; readonly calledMs: number; readonly answeredMs: number };

function check(run: Running, { below, calledMs, answeredMs }: Called, answer: readonly number[]): void {
  const { items, recent, tally, shownForMs } = run;
  tally.answers++;
  for (const item of answer) {
    const forMs = items.hiddenForMs(item, calledMs);
    if (forMs !== undefined) shownForMs.push(forMs);
    const states = items.possible(item, calledMs, answeredMs);
    if (states.some(({ hidden, rarity }) => !hidden && rarity < below)) continue;
    tally.wrong++;
    if (tally.wrong < 10) run.context.say(`  WRONG: item ${item} in ${JSON.stringify(states)}, below ${below}`);
  }
  const isShort = answer.length < LIMIT && below === RARITIES;
  if (isShort || new Set(answer).size < answer.length) tally.wrong++;
  recent.push(...answer.slice(0, 2));
  recent.splice(0, recent.length - RECENT_MAX);
}

/** Makes the reads of the second edge slow and, now and then, fail. */
async function disturb(run: Running): Promise<void> {
  const far = run.edges[1]!;
  const outage = { keys: "", kind: "error" } as const;
  const distance = { keys: "", kind: "slow", slowMs: FAR_MS } as const;
  const untilMs = async (ms: number) => {
    while (!run.isOver && performance.now() < ms) await pause(200);
  };
  while (!run.isOver) {
    await far.inject(distance);
    await untilMs(performance.now() + OUTAGE_EVERY_MS);
    await far.inject(outage);
    await untilMs(performance.now() + OUTAGE_MS);
  }
}

function figuresOf({ tally, shownForMs, context }: Running): Figure[] {
  if (tally.wrong > 0) context.fail(`${tally.wrong} items were in answers that must not have them`);
  const counted = (name: string, value: number): Figure => ({ name: `live_catalog.${name}`, value, unit: "" });
  const shown = shownForMs.length === 0 ? [0] : shownForMs;
  return [
    ...(["answers", "changes", "refused", "wrong"] as const).map((name) => counted(name, tally[name])),
    { name: "live_catalog.hidden_items_shown.p99", value: quantile(shown, 0.99), unit: "ms" },
    { name: "live_catalog.hidden_items_shown.max", value: Math.max(0, quantile(shown, 1)), unit: "ms" },
  ];
}
