import { compareHashes } from "../../shared/user-records.ts";
import type { UserValueSpool } from "../read/spool/spool-user-values.ts";
import type { HashedUser, UserHistories } from "../read/spool/user-histories.ts";
import { readSpool } from "../read/spool/user-spool.ts";

const BATCH_USERS = 1024;

/**
 * Adds attribute values to user histories: to users without positive interactions, and as new users to everybody in the spool without any
 * interaction. Both inputs are sorted by hash and are merged as they are read; their hashes must have one salt.
 *
 * @param values The codes of the spool that are served. The position of a code in this list is its code in the version.
 */
export function withUserValues(
  histories: UserHistories,
  spool: UserValueSpool,
  values: readonly number[],
): UserHistories {
  const newCode = new Map(values.map((code, position) => [code, position]));
  const served = ({ hash, content }: HashedUser): HashedUser => {
    const codes = Array.from(content.values ?? []).flatMap((code) => newCode.get(code) ?? []);
    return { hash, content: { ...content, values: codes } };
  };
  return {
    ...histories,
    userCount: histories.userCount + spool.userCount,
    async *batches() {
      const spooled = readSpool(spool.path);
      const spooledUsers = cursorOf(spooled, served);
      try {
        for await (const batch of histories.batches()) {
          const merged: HashedUser[] = [];
          for (const user of batch) {
            while (await spooledUsers.isBefore(user)) {
              merged.push(spooledUsers.take());
              if (merged.length >= BATCH_USERS) yield merged.splice(0);
            }
            const own = (await spooledUsers.isAt(user)) ? spooledUsers.take() : undefined;
            const isNeeded = own !== undefined && user.content.items.length === 0;
            merged.push(isNeeded ? { ...user, content: { ...user.content, values: own.content.values! } } : user);
          }
          yield merged;
        }
        yield* spooledUsers.rest();
      } finally {
        await spooled.return(undefined); // its file is open
      }
    },
  };
}

/** A cursor over the users with at least one served value. */
function cursorOf(batches: AsyncIterator<readonly HashedUser[]>, served: (user: HashedUser) => HashedUser) {
  let batch: readonly HashedUser[] = [];
  let at = 0;
  const current = async (): Promise<HashedUser | undefined> => {
    while (at >= batch.length) {
      const next = await batches.next();
      if (next.done) return undefined;
      batch = next.value.map(served).filter(({ content }) => content.values!.length > 0);
      at = 0;
    }
    return batch[at];
  };
  const orderTo = async (user: HashedUser) => {
    const own = await current();
    return own === undefined ? Number.POSITIVE_INFINITY : compareHashes(own.hash, user.hash);
  };
  return {
    isBefore: async (user: HashedUser) => (await orderTo(user)) < 0,
    isAt: async (user: HashedUser) => (await orderTo(user)) === 0,
    take: () => batch[at++]!,
    async *rest(): AsyncGenerator<readonly HashedUser[]> {
      while ((await current()) !== undefined) {
        yield batch.slice(at);
        at = batch.length;
      }
    },
  };
}
