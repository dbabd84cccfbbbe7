import { DuckDBListValue } from "@duckdb/node-api";
import { StageError } from "../../stage/stage-error.ts";
import type { StagedAttributes } from "../dataset/read-attributes.ts";
import { type Staging, streamStaged } from "../dataset/staging.ts";
import { type Cell, codesOfCells, type UserValueTable } from "../dataset/user-value-table.ts";
import { createSpool } from "./user-spool.ts";

/** The values of everybody in the user query, with or without interactions, on the trainer's disk: a user spool without histories. */
export type UserValueSpool = {
  readonly path: string;
  /** What the codes in it mean. */
  readonly table: UserValueTable;
  readonly userCount: number;
};

export type ValueSpoolPlace = {
  readonly path: string;
  /** 16 to 64 bytes, of the hashes of users. */
  readonly salt: Uint8Array;
};

/** Users by rising hash, sorted out of core; those without a value that the table has are left out. Throws StageError. */
export async function spoolUserValues(
  staging: Staging,
  staged: StagedAttributes,
  { table, path, salt, signal }: ValueSpoolPlace & { readonly table: UserValueTable; readonly signal: AbortSignal },
): Promise<UserValueSpool> {
  const spool = await createSpool(path);
  const cells = table.columns.map(({ name }) => staged.attributes.find((attribute) => attribute.name === name)!.value);
  const hash = `sha256(from_hex('${Buffer.from(salt).toString("hex")}') || encode(text))`;
  const columns = [`substr(${hash}, 1, 16) AS hash`, ...cells.map((value, c) => `${value} AS v${c}`)];
  const sql = `SELECT ${columns.join(", ")} FROM ${staged.table} ORDER BY hash`;
  let last = "";
  try {
    for await (const chunk of streamStaged(staging, sql, signal)) {
      const vectors = columns.map((_, c) => chunk.getColumnVector(c));
      for (let row = 0; row < chunk.rowCount; row++) {
        const [name, ...values] = vectors.map((vector) => vector.getItem(row)) as [string, ...unknown[]];
        if (name === last) throw collision();
        last = name;
        const codes = codesOfCells(table, values.map(cellOf));
        if (codes.length > 0) await spool.add(hashOf(name), { items: [], times: [], seen: [], values: codes });
      }
    }
    return { path, table, userCount: await spool.end() };
  } finally {
    await spool.close();
  }
}

const cellOf = (value: unknown): Cell =>
  value instanceof DuckDBListValue ? (value.items as readonly string[]) : (value as Cell);

const hashOf = (name: string) => ({
  high: Number.parseInt(name.slice(0, 8), 16),
  low: Number.parseInt(name.slice(8, 16), 16),
});

const collision = () =>
  new StageError("fetching", "user_hash_collision", "Two users have the same 64-bit hash; train again.", {
    retryable: true,
  });
