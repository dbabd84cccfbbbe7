/**
 * `npm run bench -- experiment`: an experiment on MovieLens-1M as traffic, in process. The users come in the order of their first list,
 * which they get after twenty ratings. One arm gets popular films, the other one films that were liked together with those of the user,
 * learnt from the users who came before. The goal is that one of the three films which the user likes next is in the list. What each list
 * leads to is known for every user, so it is known which arm is better. Somebody looks every day and stops at the first verdict.
 *
 *     --set=ml-1m      or ml-100k
 *     --seeds=20       experiments, each with other users in the arms
 */

import { divide } from "../../shared/experiment/buckets.ts";
import type { ExposureCount } from "../../shared/experiment/counts.ts";
import { experimentReport } from "../../shared/experiment/report.ts";
import { armOf, type RunningExperiment } from "../../shared/experiment/running.ts";
import { activityLevel } from "../../shared/experiment/verdict.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { missingRealData, type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { type Bench, compared, type Figure } from "./bench.ts";

const SEEDS = 20;
/** Experiments between the same lists, for each seed. */
const SAME_PER_SEED = 10;
const RIGHT_MIN = 0.95;
const LEARNT_FRACTION = 1 / 3;
const FIRST_LIST_AFTER = 20;
const K = 10;
const NEXT_LIKES = 3;
const GOAL = { type: "like", within_hours: 24 };
const DAY_SECONDS = 86_400;

/** A user's first list of the experiment, and whether each arm's list leads to the goal. */
type Visit = {
  readonly user: string;
  readonly at: number;
  readonly activity: number;
  readonly reached: Record<ArmName, boolean>;
};
type ArmName = "popular" | "together";

export const experiment: Bench = async ({ say, fail, flags }) => {
  const set = (flags.get("set") ?? "ml-1m") as RealDataSet;
  const missing = missingRealData(set);
  if (missing !== undefined) {
    say(`  ${missing}`);
    return [];
  }
  const seeds = Number(flags.get("seeds") ?? SEEDS);
  const { dataset } = await readRealData(set, { tieOrder: "row" });
  const visits = visitsOf(dataset);
  const rateOf = (arm: ArmName) => visits.filter(({ reached }) => reached[arm]).length / visits.length;
  const rates = { popular: rateOf("popular"), together: rateOf("together") };
  say(
    `  ${visits.length} users; ${percent(rates.popular)} like a popular film, ${percent(rates.together)} one that goes together`,
  );

  const ended = Array.from({ length: seeds }, (_, seed) => run(visits, `seed ${seed}`, ["popular", "together"]));
  const right = ended.filter(({ verdict }) => verdict === "better").length;
  const reversed = Array.from({ length: seeds }, (_, seed) => run(visits, `seed ${seed}`, ["together", "popular"]));
  const worse = reversed.filter(({ verdict }) => verdict === "worse").length;
  const same = Array.from({ length: SAME_PER_SEED * seeds }, (_, seed) =>
    run(visits, `same ${seed}`, ["popular", "popular"]),
  );
  const wrong = same.filter(({ verdict }) => verdict === "better" || verdict === "worse").length;
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  say(
    `  ${right} of ${seeds} find the better arm, ${worse} the worse one; ${wrong} of ${same.length} find a difference in the same lists`,
  );
  for (const [what, count] of [
    ["better", right],
    ["worse", worse],
  ] as const)
    if (count < RIGHT_MIN * seeds) fail(`${count} of ${seeds} experiments find the ${what} arm`);
  if (wrong > (1 - RIGHT_MIN) * same.length)
    fail(`${wrong} of ${same.length} experiments find a difference that is none`);
  const name = `experiment.${set}`;
  const figures: Figure[] = [
    compared(`${name}.goal_rate`, "share", rates.together, rates.popular),
    { name: `${name}.right_verdicts`, value: right / seeds, unit: "share" },
    { name: `${name}.right_verdicts_reversed`, value: worse / seeds, unit: "share" },
    { name: `${name}.false_verdicts`, value: wrong / same.length, unit: "share" },
    compared(`${name}.users_until_verdict`, "users", mean(ended.map(({ users }) => users)), visits.length),
    { name: `${name}.variance_removed`, value: mean(ended.map(({ removed }) => removed)), unit: "share" },
  ];
  return figures;
};

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** One experiment, until its first verdict or until the users are over. */
function run(visits: readonly Visit[], salt: string, arms: readonly [ArmName, ArmName]) {
  const buckets = divide([0.5, 0.5], []);
  const startMs = visits[0]!.at * 1000;
  const running: RunningExperiment = {
    ...{ name: "replayed", salt, goal: GOAL, guard: null, started_at: new Date(startMs).toISOString() },
    arms: ["first", "second"].map((name, i) => ({
      name,
      buckets: buckets[i]!,
      version: null,
      scenario: null,
      strategy: null,
    })),
    revisions: [{ first: 0.5, second: 0.5 }],
  };
  const counts = new Map<string, { -readonly [Field in keyof ExposureCount]: ExposureCount[Field] }>();
  let [users, day] = [0, 0];
  const look = () => {
    const { verdict, arms } = experimentReport(running, [...counts.values()], startMs + (day + 1) * DAY_SECONDS * 1000);
    return { verdict, users, removed: arms[1]!.lift?.variance_removed ?? 0 };
  };
  for (const { user, at, activity, reached } of visits) {
    const today = Math.floor((at - visits[0]!.at) / DAY_SECONDS);
    if (today !== day) {
      const seen = look();
      if (seen.verdict === "better" || seen.verdict === "worse") return seen;
      day = today;
    }
    const { name } = armOf(running, user)!;
    const key = `${name} ${activity}`;
    const count = counts.get(key) ?? {
      arm: name,
      revision: 0,
      from: startMs,
      exposed: 0,
      reached: 0,
      guarded: 0,
      activity,
    };
    count.exposed++;
    count.reached += Number(reached[arms[name === "first" ? 0 : 1]]);
    counts.set(key, count);
    users++;
  }
  return look();
}

/** The users who come after those whom the lists are learnt from, by the time of their first list. */
function visitsOf(dataset: Dataset): Visit[] {
  const { userStart, times, items, positive, itemCount } = dataset;
  const rowsOf = (user: number) =>
    Array.from({ length: userStart[user + 1]! - userStart[user]! }, (_, i) => userStart[user]! + i);
  const order = Array.from({ length: dataset.userCount }, (_, user) => user).sort(
    (a, b) => times[userStart[a]!]! - times[userStart[b]!]!,
  );
  const learnt = order.slice(0, Math.floor(LEARNT_FRACTION * order.length));
  const likedBy = (user: number) =>
    rowsOf(user)
      .filter((row) => positive[row] === 1)
      .map((row) => items[row]!);
  const counts = new Float64Array(itemCount);
  const together = new Float32Array(itemCount * itemCount);
  for (const user of learnt) {
    const liked = likedBy(user);
    for (const a of liked) {
      counts[a]!++;
      for (const b of liked) together[a * itemCount + b]!++;
    }
  }
  const best = (score: (item: number) => number, seen: ReadonlySet<number>) =>
    Array.from({ length: itemCount }, (_, item) => ({ item, score: seen.has(item) ? -1 : score(item) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, K)
      .map(({ item }) => item);
  const visits: Visit[] = [];
  for (const user of order.slice(learnt.length)) {
    const rows = rowsOf(user);
    if (rows.length <= FIRST_LIST_AFTER) continue;
    const before = rows.slice(0, FIRST_LIST_AFTER);
    const at = times[before.at(-1)!]!;
    const seen = new Set(before.map((row) => items[row]!));
    const history = before.filter((row) => positive[row] === 1).map((row) => items[row]!);
    const score = (item: number) =>
      history.reduce((sum, liked) => sum + together[liked * itemCount + item]! / Math.sqrt(1 + counts[item]!), 0);
    const next = rows.slice(FIRST_LIST_AFTER).filter((row) => positive[row] === 1);
    const liked = new Set(next.slice(0, NEXT_LIKES).map((row) => items[row]!));
    const leads = (list: readonly number[]) => list.some((item) => liked.has(item));
    visits.push({
      user: String(user),
      at,
      activity: activityLevel(history.length),
      reached: { popular: leads(best((item) => counts[item]!, seen)), together: leads(best(score, seen)) },
    });
  }
  return visits.sort((a, b) => a.at - b.at);
}
