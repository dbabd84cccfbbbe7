import pg from "pg";
import type { ItemId, ItemIndex, UserId } from "../../shared/ids.ts";
import { rank } from "../../shared/rank.ts";
import { METRICS } from "../../trainer/choose/evaluate/metrics.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { openStoredVersion } from "../../trainer/run/stored-version.ts";
import { directoryStore } from "../../trainer/store/directory-store.ts";
import { readManifest } from "../../trainer/store/versions.ts";
import type { PostgresServer } from "../fixtures/postgres-server.ts";
import { judgedQuery, LEARNT_QUERY } from "./pushdown-data.ts";

const JUDGED_USERS = 4000;
const K = 10;
/** Unseen items of each user that are looked up in the record. */
const PROBES = 50;

export type JudgedUser = {
  readonly user: string;
  /** Every item of the rows that a model may know. */
  readonly seen: ReadonlySet<string>;
  /** Positive items of later rows that the user has not seen before. */
  readonly chosen: ReadonlySet<string>;
};

export type VersionJudged = {
  readonly items: number;
  readonly users: number;
  /** Seen pairs of the judged users, and those that their records lack. */
  readonly pairs: number;
  readonly missed: number;
  /** Seen items in lists. */
  readonly seenListed: number;
  /** The fraction of unseen items that a record hides. */
  readonly hidden: number;
  /** NDCG@10 of each judged user who chose something later. */
  readonly ndcg: Float64Array;
};

/** Numbers of users and items of the rows that a model may know. */
export async function countsOf(server: PostgresServer): Promise<{ readonly users: number; readonly items: number }> {
  const countOf = async (column: string) => {
    const [row] = await rowsOf(
      server,
      `SELECT count(*) FROM (SELECT DISTINCT ${column} FROM (${LEARNT_QUERY}) AS r) AS d`,
    );
    return Number(row![0]);
  };
  return { users: await countOf("user_id"), items: await countOf("item_id") };
}

/** About four thousand users with all their rows. */
export async function judgedUsers(server: PostgresServer, users: number): Promise<JudgedUser[]> {
  const known = new Map<string, { seen: Set<string>; later: string[] }>();
  for (const [user, item, held, label] of await rowsOf(server, judgedQuery(Math.min(1, JUDGED_USERS / users)))) {
    const own = known.get(user!) ?? { seen: new Set(), later: [] };
    known.set(user!, own);
    if (held === "f") own.seen.add(item!);
    else if (label === "t") own.later.push(item!);
  }
  return [...known]
    .filter(([, { seen }]) => seen.size > 0)
    .map(([user, { seen, later }]) => ({ user, seen, chosen: new Set(later.filter((item) => !seen.has(item))) }));
}

/** Checks the records of these users, and judges the lists that the edge would answer. */
export async function judgeVersion(bucket: string, name: string, users: readonly JudgedUser[]): Promise<VersionJudged> {
  const [store, model] = [directoryStore(bucket), { customer: "bench", modelName: "bench" }];
  const manifest = (await readManifest(store, model, name))!;
  const version = await openStoredVersion(store, model, { version: name, manifest, pointer: {} });
  const scorer = await openScorer(version.exported, manifest.item_count);
  const random = seededRandom(1, 3);
  const found = { pairs: 0, missed: 0, seenListed: 0, probes: 0, hidden: 0 };
  const ndcg: number[] = [];
  try {
    const hashed = users.map((user) => ({ ...user, hash: version.hashOf(user.user as UserId) }));
    for (const { user, seen, chosen, hash } of hashed.sort((a, b) => a.hash.high - b.hash.high)) {
      const record = await version.recordOf(hash);
      const snapshot = version.snapshotOf(scorer, record);
      const indices = new Set([...seen].map((item) => snapshot.indexOf(item as ItemId)));
      found.pairs += indices.size;
      for (const index of indices) if (index === undefined || !record?.hasSeen(index)) found.missed++;
      for (let probe = 0; probe < PROBES; probe++) {
        const item = Math.floor(random() * manifest.item_count) as ItemIndex;
        if (indices.has(item)) continue;
        found.probes++;
        if (record?.hasSeen(item)) found.hidden++;
      }
      const request = { limit: K, session: [], filter: undefined, excludeSeen: true, nowSeconds: Date.now() / 1000 };
      const { items } = await rank({ ...request, userId: user as UserId }, snapshot);
      found.seenListed += items.filter((item) => indices.has(item)).length;
      const wanted = [...chosen].flatMap((item) => snapshot.indexOf(item as ItemId) ?? []);
      if (wanted.length > 0) ndcg.push(METRICS.ndcg(items, new Set(wanted), K));
    }
  } finally {
    await scorer.close();
  }
  const { pairs, missed, seenListed, hidden, probes } = found;
  const { item_count: items, user_count: userCount } = manifest;
  return { items, users: userCount, pairs, missed, seenListed, hidden: hidden / probes, ndcg: Float64Array.from(ndcg) };
}

async function rowsOf({ port, password }: PostgresServer, sql: string): Promise<(string | null)[][]> {
  const client = new pg.Client({ host: "127.0.0.1", port, user: "owner", password, database: "postgres" });
  await client.connect();
  try {
    const types = { getTypeParser: () => (text: string) => text } as never;
    return (await client.query({ text: sql, rowMode: "array", types })).rows;
  } finally {
    await client.end();
  }
}
