import type { UserId } from "../../shared/ids.ts";

/** Who was ranked for of late, in memory only: their records are read before a newer version takes over. */
export type RecentUsers = {
  note(model: string, user: UserId): void;
  /** The most recent first. */
  of(model: string): UserId[];
};

const CHARACTERS_MAX = 64;

/** @param usersMax Of all models together; users with very long ids are not counted among them. */
export function recentUsers(usersMax: number): RecentUsers {
  const users = new Map<string, { readonly model: string; readonly user: UserId }>(); // the least recent first
  return {
    note(model, user) {
      if (user.length > CHARACTERS_MAX) return;
      const key = `${model}\n${user}`;
      users.delete(key);
      users.set(key, { model, user });
      if (users.size > usersMax) users.delete(users.keys().next().value!);
    },
    of: (model) => [...users.values()].flatMap((one) => (one.model === model ? one.user : [])).reverse(),
  };
}
