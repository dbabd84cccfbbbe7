import { compareHashes } from "../../shared/user-records.ts";
import type { UserValueSpool } from "../read/spool/spool-user-values.ts";
import type { HashedUser, UserHistories } from "../read/spool/user-histories.ts";
import { readSpool } from "../read/spool/user-spool.ts";

const BATCH_USERS = 1024;

/**
 * Adds attribute values to the histories of users. Users of the spool who have no interaction are added as new users. Both inputs are
 * sorted by hash and are merged as they are read; their hashes must have the same salt.
 *
 * @param values The codes of the spool. The position of a code in this list is its code in the version.
 */
export function withUserValues(
  histories: UserHistories,
  spool: UserValueSpool,
  values: readonly number[],
): UserHistories {
  const newCode = new Map(values.map((code, position) => [code, position]));
  async function* served(): AsyncGenerator<HashedUser> {
    for await (const batch of readSpool(spool.path)) {
      for (const { hash, content } of batch) {
        const codes = Array.from(content.values ?? []).flatMap((code) => newCode.get(code) ?? []);
        if (codes.length > 0) yield { hash, content: { ...content, values: codes.sort((a, b) => a - b) } };
      }
    }
  }
  return {
    ...histories,
    userCount: histories.userCount + spool.userCount,
    async *batches() {
      const batch: HashedUser[] = [];
      for await (const user of merged(histories, served())) {
        if (batch.push(user) === BATCH_USERS) yield batch.splice(0);
      }
      yield batch;
    },
  };
}

/** All users by ascending hash. */
async function* merged(histories: UserHistories, valuedUsers: AsyncGenerator<HashedUser>): AsyncGenerator<HashedUser> {
  try {
    let valued = await valuedUsers.next();
    for await (const batch of histories.batches()) {
      for (const user of batch) {
        for (; !valued.done && compareHashes(valued.value.hash, user.hash) < 0; valued = await valuedUsers.next())
          yield valued.value;
        if (valued.done || compareHashes(valued.value.hash, user.hash) > 0) yield user;
        else {
          const { values } = valued.value.content;
          yield { ...user, content: { ...user.content, values: values! } };
          valued = await valuedUsers.next();
        }
      }
    }
    for (; !valued.done; valued = await valuedUsers.next()) yield valued.value;
  } finally {
    await valuedUsers.return(undefined); // its file is open
  }
}
