import { compareHashes } from "../../shared/user-records.ts";
import type { UserValueSpool } from "../read/spool/spool-user-values.ts";
import type { HashedUser, UserHistories } from "../read/spool/user-histories.ts";
import { readSpool } from "../read/spool/user-spool.ts";

const BATCH_USERS = 1024;

/**
 * The same users, with their values where there is no history to rank by, and those who have values but no interactions: both come
 * by rising hash, so they are merged as they are read. Hashes must be of one salt.
 *
 * @param values Which codes of the spool are served; the position of a code among them is the code that users get.
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
      const newcomers = cursorOf(spooled, served);
      try {
        for await (const batch of histories.batches()) {
          const merged: HashedUser[] = [];
          for (const user of batch) {
            while (await newcomers.isBefore(user)) {
              merged.push(newcomers.take());
              if (merged.length >= BATCH_USERS) yield merged.splice(0);
            }
            const own = (await newcomers.isAt(user)) ? newcomers.take() : undefined;
            const isNeeded = own !== undefined && user.content.items.length === 0;
            merged.push(isNeeded ? { ...user, content: { ...user.content, values: own.content.values! } } : user);
          }
          yield merged;
        }
        yield* newcomers.rest();
      } finally {
        await spooled.return(undefined); // its file is open
      }
    },
  };
}

/** Users with at least one value, one at a time. */
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
