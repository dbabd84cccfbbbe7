import type { ModelSchema } from "../../../shared/model-spec.ts";
import type { Dataset, Interactions } from "./dataset.ts";

/** The session of each row of a dataset. Sessions of one user are numbered in the order in which they begin, user by user. */
export type Sessions = {
  readonly count: number;
  readonly of: Uint32Array; // [interactionCount]
};

/** The number of sessions, which may be users; undefined for a model that knows none. */
export function sessionCountOf(
  { interaction }: ModelSchema,
  sessions: Sessions | null,
  { userCount }: Interactions,
): number | undefined {
  return interaction.session_id === undefined ? undefined : (sessions?.count ?? userCount);
}

/** Rows of a user that name no session are one session while they are no further apart. */
const GAP_SECONDS = 1800;

/** Gives each row the number of its session. Takes rows in the order of users and times. */
export function sessionNumbering(): {
  readonly count: () => number;
  /** @param key Equal for rows of one session of the user; null for a row that names no session. */
  readonly numberOf: (user: number, key: number | null, second: number) => number;
} {
  let count = 0;
  let lastUser = -1;
  const numbers = new Map<number, number>();
  let unnamed: { readonly number: number; readonly second: number } | undefined;
  return {
    count: () => count,
    numberOf(user, key, second) {
      if (user !== lastUser) {
        numbers.clear();
        unnamed = undefined;
        lastUser = user;
      }
      if (key === null) {
        const number = unnamed && second - unnamed.second <= GAP_SECONDS ? unnamed.number : count++;
        unnamed = { number, second };
        return number;
      }
      const known = numbers.get(key);
      if (known === undefined) numbers.set(key, count);
      return known ?? count++;
    },
  };
}

/** The same rows with sessions in the place of users: what a model of sessions learns from. Sessions have neither ids nor attributes. */
export function bySession(dataset: Dataset, sessions: Sessions): Dataset {
  const userStart = new Uint32Array(sessions.count + 1);
  for (const session of sessions.of) userStart[session + 1]!++;
  for (let session = 0; session < sessions.count; session++) userStart[session + 1]! += userStart[session]!;
  const next = userStart.slice();
  const { items, times, positive, ratings } = dataset;
  const by = {
    items: new Int32Array(items.length),
    times: new Uint32Array(items.length),
    positive: new Uint8Array(items.length),
    ratings: ratings && new Float32Array(items.length),
  };
  for (const [row, session] of sessions.of.entries()) {
    const to = next[session]!++;
    by.items[to] = items[row]!;
    by.times[to] = times[row]!;
    by.positive[to] = positive[row]!;
    if (ratings) by.ratings![to] = ratings[row]!;
  }
  const userIds = { bytes: new Uint8Array(0), start: new Uint32Array(sessions.count + 1) };
  return { ...dataset, ...by, userCount: sessions.count, userStart, userIds, userAttributes: [] };
}
