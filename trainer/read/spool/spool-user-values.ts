import { DuckDBListValue } from "@duckdb/node-api";
import type { StagedAttributes } from "../dataset/read-attributes.ts";
import { type Staging, streamStaged } from "../dataset/staging.ts";
import { type Cell, codesOfCells, type UserValueTable } from "../dataset/user-value-table.ts";
import { createSpool, hashOfHex } from "./user-spool.ts";

/** A file with the attribute values of all users of the user query: a user spool without histories. */
export type UserValueSpool = {
  readonly path: string;
  /** The meaning of the codes in the file. */
  readonly table: UserValueTable;
  readonly userCount: number;
};

export type ValueSpoolPlace = {
  readonly path: string;
  /** Salt of the users' hashes: 16 to 64 bytes. */
  readonly salt: Uint8Array;
};

/** Writes users by ascending hash, sorted out of core. Users without a value of the table are left out. Throws StageError. */
export async function spoolUserValues(
  staging: Staging,
  staged: StagedAttributes,
  { table, path, salt }: ValueSpoolPlace & { readonly table: UserValueTable },
): Promise<UserValueSpool> {
  const spool = await createSpool(path);
  const cells = table.columns.map(({ name }) => staged.attributes.find((attribute) => attribute.name === name)!.value);
  const hash = `sha256(from_hex('${Buffer.from(salt).toString("hex")}') || encode(text))`;
  const columns = [`substr(${hash}, 1, 16) AS hash`, ...cells.map((value, c) => `${value} AS v${c}`)];
  const sql = `SELECT ${columns.join(", ")} FROM ${staged.table} ORDER BY hash`;
  try {
    for await (const chunk of streamStaged(staging, sql)) {
      const vectors = columns.map((_, c) => chunk.getColumnVector(c));
      for (let row = 0; row < chunk.rowCount; row++) {
        const [name, ...values] = vectors.map((vector) => vector.getItem(row)) as [string, ...unknown[]];
        const codes = codesOfCells(table, values.map(cellOf));
        if (codes.length > 0) await spool.add(hashOfHex(name), { items: [], times: [], seen: [], values: codes });
      }
    }
    return { path, table, userCount: await spool.end() };
  } finally {
    await spool.close();
  }
}

const cellOf = (value: unknown): Cell =>
  value instanceof DuckDBListValue ? (value.items as readonly string[]) : (value as Cell);
