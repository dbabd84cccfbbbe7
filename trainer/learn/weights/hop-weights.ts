import { transposed } from "./sparse-builder.ts";
import { type EncodedLinks, encodeLinks, linkBytes } from "./sparse-encoding.ts";
import type { HopWeights, SparseWeights } from "./weight-matrix.ts";

/** The two hops as their files hold them: from items to users, and from users to items. */
export type EncodedHops = {
  readonly kind: "hops";
  readonly toUsers: EncodedLinks;
  readonly toItems: EncodedLinks;
  readonly rowFactors: Float32Array; // [rowCount]
  readonly userFactors: Float32Array; // [kept users]
  readonly columnFactors: Float32Array; // [columnCount]
};

/** Most entries of users that are kept. A rank call may read all of them, at about 25 ns each in onnxruntime-web. */
const ENTRIES_MAX = 2_000_000;

/** Bytes of all files when at most this fraction of the users is kept. */
export function hopBytes({ rowCount, columnCount, users }: HopWeights, fraction: number): number {
  const kept = keptUsers(users, fraction);
  const entries = kept.reduce((sum, user) => sum + users.start[user + 1]! - users.start[user]!, 0);
  const toUsers = linkBytes({ rowCount, columnCount: kept.length }, entries);
  const toItems = linkBytes({ rowCount: kept.length, columnCount }, entries);
  return toUsers + toItems + 4 * (rowCount + kept.length + columnCount);
}

/** Fewer users stand for all: their weights grow by as much as their number falls. */
export function encodeHops({ rowFactors, columnFactors, ...hops }: HopWeights, fraction: number): EncodedHops {
  const kept = keptUsers(hops.users, fraction);
  const users = rowsOf(hops.users, kept);
  const growth = hops.users.rowCount / users.rowCount;
  return {
    kind: "hops",
    toUsers: encodeLinks(transposed(users)),
    toItems: encodeLinks(users),
    rowFactors,
    userFactors: Float32Array.from(kept, (user) => growth * hops.userFactors[user]!),
    columnFactors,
  };
}

/** Users at equal distances, at least one if there is any. */
export function keptUsers({ rowCount: count, columns }: SparseWeights, fraction: number): Int32Array {
  const wanted = Math.floor(count * Math.min(fraction, ENTRIES_MAX / columns.length));
  const keep = Math.min(count, Math.max(1, wanted));
  return Int32Array.from({ length: keep }, (_, i) => Math.floor((i * count) / keep));
}

function rowsOf(matrix: SparseWeights, rows: Int32Array): SparseWeights {
  const start = new Uint32Array(rows.length + 1);
  for (const [i, row] of rows.entries()) start[i + 1] = start[i]! + matrix.start[row + 1]! - matrix.start[row]!;
  const columns = new Int32Array(start[rows.length]!);
  for (const [i, row] of rows.entries())
    columns.set(matrix.columns.subarray(matrix.start[row]!, matrix.start[row + 1]!), start[i]!);
  return { ...matrix, rowCount: rows.length, start, columns, values: new Float32Array(columns.length).fill(1) };
}
