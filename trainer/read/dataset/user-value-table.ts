import { isKeyed, type KeyedAttribute } from "../../../shared/attributes.ts";
import { RECORD_VALUES_MAX } from "../../../shared/user-records.ts";
import { USER_VALUES_MAX, VALUE_NAME_MAX, type ValueNames } from "../../../shared/user-values.ts";
import type { AttributeColumn } from "./dataset.ts";
import { areKeys } from "./key-numbers.ts";

/** The content of one cell of an attribute: nothing, a text, a number (Boolean: 0 or 1), or a list of texts. */
export type Cell = null | string | number | readonly string[];

/** The names of one attribute's values, and the code of each. A value without a code is too rare. */
export type ValueColumn = {
  readonly name: string;
  readonly type: KeyedAttribute["type"];
  /** For numbers and times, ascending quantiles, unless numbers name categories. The name of a number is how many of them it reaches. */
  readonly bounds: readonly number[] | null;
  readonly codes: ReadonlyMap<string, number>;
};

/** The attribute values that many users have. Their codes are 0 … valueCount − 1, the most frequent value first. */
export type UserValueTable = {
  /** The attributes with at least one such value. */
  readonly columns: readonly ValueColumn[];
  readonly valueCount: number;
};

/** The codes of each user's values: user u's are codes[start[u]] … codes[start[u + 1] − 1], ascending. */
export type UserCodes = {
  readonly start: Uint32Array; // [userCount + 1]
  readonly codes: Uint8Array;
};

/** A value of fewer users teaches little about others, and might identify them. */
export const VALUE_USERS_MIN = 20;
/** Numbers are divided into this many ranges with equally many users each. */
const RANGES = 8;

/** Makes the table from the attributes of users with interactions. Free texts and places have no values. */
export function userValueTable(columns: readonly AttributeColumn[]): UserValueTable {
  const usable = columns.filter(isKeyed).filter(({ type }) => type !== "Text");
  const bounds = usable.map((column) =>
    (column.type === "Numerical" || column.type === "Timestamp") && !areKeys(column, VALUE_USERS_MIN)
      ? quantiles(column.values)
      : null,
  );
  const frequent = usable.flatMap((column, c) =>
    [...usersOfNames(column, bounds[c]!)]
      .filter(([, users]) => users >= VALUE_USERS_MIN)
      .map(([name, users]) => ({ c, name, users })),
  );
  frequent.sort((a, b) => b.users - a.users || a.c - b.c || (a.name < b.name ? -1 : 1));
  const codes = usable.map(() => new Map<string, number>());
  const kept = frequent.slice(0, USER_VALUES_MAX);
  for (const [code, { c, name }] of kept.entries()) codes[c]!.set(name, code);
  const all = usable.map(({ name, type }, c) => ({ name, type, bounds: bounds[c]!, codes: codes[c]! }));
  return { columns: all.filter((column) => column.codes.size > 0), valueCount: kept.length };
}

/** What the codes of the table mean, in another order. Numbers and their ranges, and long texts, have no name. */
export function namesOfCodes({ columns, valueCount }: UserValueTable, order: readonly number[]): ValueNames {
  const names: ValueNames["names"][number][] = new Array(valueCount).fill(null);
  for (const { name, type, bounds, codes } of columns)
    for (const [value, code] of codes)
      if (bounds === null && type !== "Numerical" && value.length <= VALUE_NAME_MAX)
        names[code] = [name, type === "Boolean" ? value === "1" : value];
  const lists = columns.filter(({ type }) => type === "CategoryList").map(({ name }) => name);
  return { names: order.map((code) => names[code]!), lists };
}

/** The codes of every user, from columns of attributes. */
export function codesOfUsers(table: UserValueTable, columns: readonly AttributeColumn[], userCount: number): UserCodes {
  const cells = table.columns.map(({ name }) =>
    cellReader(columns.filter(isKeyed).find((column) => column.name === name)!),
  );
  const start = new Uint32Array(userCount + 1);
  let codes = new Uint8Array(1024);
  let end = 0;
  for (let user = 0; user < userCount; user++) {
    const own = codesOfCells(
      table,
      cells.map((cellOf) => cellOf(user)),
    );
    if (end + own.length > codes.length) codes = grown(codes);
    codes.set(own, end);
    end += own.length;
    start[user + 1] = end;
  }
  return { start, codes: codes.slice(0, end) };
}

/** The codes of one user, ascending, at most as many as a record holds. `cells` are aligned with the columns. */
export function codesOfCells({ columns }: UserValueTable, cells: readonly Cell[]): number[] {
  const own = new Set<number>();
  for (const [c, { bounds, codes }] of columns.entries()) {
    for (const name of namesOf(cells[c]!, bounds)) {
      const code = codes.get(name);
      if (code !== undefined) own.add(code);
    }
  }
  return [...own].sort((a, b) => a - b).slice(0, RECORD_VALUES_MAX);
}

/** The names of the values in a cell. */
function namesOf(cell: Cell, bounds: readonly number[] | null): readonly string[] {
  if (cell === null) return [];
  if (typeof cell === "number") {
    if (Number.isNaN(cell)) return [];
    return [String(bounds === null ? cell : bounds.filter((bound) => cell >= bound).length)];
  }
  return typeof cell === "string" ? [cell] : cell;
}

function cellReader(column: KeyedAttribute): (user: number) => Cell {
  switch (column.type) {
    case "Numerical":
    case "Timestamp":
      return (user) => column.values[user]!;
    case "Boolean":
      return (user) => (column.values[user] === 255 ? null : column.values[user]!);
    default: {
      const { start, codes, dictionary } = column;
      return (user) => Array.from(codes.subarray(start[user], start[user + 1]), (code) => dictionary[code]!);
    }
  }
}

function usersOfNames(column: KeyedAttribute, bounds: readonly number[] | null): Map<string, number> {
  const users = new Map<string, number>();
  const cellOf = cellReader(column);
  const count = "start" in column ? column.start.length - 1 : column.values.length;
  for (let user = 0; user < count; user++)
    for (const name of new Set(namesOf(cellOf(user), bounds))) users.set(name, (users.get(name) ?? 0) + 1);
  return users;
}

function quantiles(values: Float64Array): number[] {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const bounds = Array.from({ length: RANGES - 1 }, (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / RANGES)]);
  return [...new Set(bounds.filter((bound) => bound !== undefined))];
}

function grown(codes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * codes.length);
  larger.set(codes);
  return larger;
}
