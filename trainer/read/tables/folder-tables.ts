import {
  guessColumns,
  guessIdColumn,
  guessIdColumnByRole,
  guessItemColumn,
  guessOrderColumn,
  guessUserColumn,
} from "../../../shared/guess-columns.ts";

/** A file of a folder, by its name there. */
type Table = { readonly file: string; readonly columns: readonly string[]; readonly bytes: number };

/** Files of one table have most columns in common, although some may have been added later. */
const COMMON_MIN = 0.5;

/** Whether files have so different columns that they are not parts of one table. */
export const areDifferent = ([first, ...others]: readonly Table[]): boolean =>
  others.some(({ columns }) => {
    const common = columns.filter((column) => first!.columns.includes(column)).length;
    return common < COMMON_MIN * Math.max(columns.length, first!.columns.length);
  });

/** What the tables of a shop are, by the names of their files and columns: flags of `npm start`. Empty where none has interactions. */
export function flagsOf(tables: readonly Table[]): { readonly [flag: string]: string } {
  const bySize = [...tables].sort((a, b) => Number(isSupply(a)) - Number(isSupply(b)) || b.bytes - a.bytes);
  const isLines = (table: Table) => guessOrderColumn(table.columns) !== undefined && hasItem(table);
  const lines = bySize.find(isLines);
  const [chosen] = bySize.filter(hasBoth).sort((a, b) => doubtsOf(a) - doubtsOf(b));
  const data =
    (lines && chosen && SAYS_LESS.test(`${chosen.file} ${guessItemColumn(chosen.columns)}`) ? lines : chosen) ??
    lines ??
    bySize.find(({ columns }) => guessColumns(columns).kind === "guessed");
  if (data === undefined) return {};
  const orders = hasUser(data)
    ? undefined
    : bySize.find((table) => table !== data && hasUser(table) && isOrders(table));
  const guess = guessColumns([...(orders?.columns ?? []), ...data.columns]);
  if (guess.kind === "unclear") return { data: data.file };
  const others = bySize.filter((table) => table !== data && table !== orders);
  const describing = (role: "user" | "item", tables: readonly Table[]) => {
    const found = tables.filter((table) => describes(table, guess, role));
    return found.find(({ file }) => isNamedAfter(file, guess[role])) ?? found[0];
  };
  const items = describing("item", others);
  const users = describing(
    "user",
    others.filter((table) => table !== items),
  );
  const flags = { data, orders, items, users };
  return Object.fromEntries(Object.entries(flags).flatMap(([flag, table]) => (table ? [[flag, table.file]] : [])));
}

/** What a shop orders itself. */
const isSupply = ({ file }: Table) => /purchase[_ -]?order|suppl|vendor/i.test(file);

const CART = /cart|wish/i;
/** Where there are orders, they say more than these files, and than addresses of pages. */
const SAYS_LESS = new RegExp(`${CART.source}|review|rating|comment|url|page`, "i");

/** What people do has times, unlike who made a film. What is in a cart may not have been bought. */
function doubtsOf({ file, columns }: Table): number {
  const guess = guessColumns(columns);
  const hasTime = guess.kind === "guessed" && guess.time !== null;
  return (CART.test(file) ? 2 : 0) + (hasTime ? 0 : 1);
}

/** The id of a row in a shop by Magento, whether an order or a product. */
const ROW_ID = /^entity_?id$/i;

const hasItem = ({ columns }: Table) => guessItemColumn(columns.filter((column) => !ROW_ID.test(column))) !== undefined;

/** Whether a column says who. An order, which stands in for an unknown customer, does not, nor does the author of a book. */
function hasUser({ columns }: Table): boolean {
  const user = guessUserColumn(columns);
  return user !== undefined && guessOrderColumn([user]) === undefined && !/author/i.test(user);
}

const hasBoth = (table: Table) => hasUser(table) && hasItem(table);

const isOrders = ({ file, columns }: Table) =>
  guessOrderColumn(columns) !== undefined ||
  (/order|sale|invoice|transaction/i.test(file) &&
    columns.some((column) => /^_?id$/i.test(column) || ROW_ID.test(column)));

/** Whether a table has the ids of users or items and not of both, or an `id` and a name such as `products` for `product_id`. */
function describes(
  table: Table,
  guess: { readonly user: string; readonly item: string },
  role: "user" | "item",
): boolean {
  const { file, columns } = table;
  const [id, other] = role === "user" ? [guess.user, guess.item] : [guess.item, guess.user];
  if (hasBoth(table) || guessOrderColumn(columns) !== undefined) return false;
  if (guessIdColumn(other, columns) !== undefined) return false;
  const hasOwnId = isNamedAfter(file, id) && guessIdColumnByRole(role, columns) !== undefined;
  return guessIdColumn(id, columns) !== undefined || hasOwnId;
}

/** Whether a file such as `products.csv` has the name of the id's owner, as in `product_id`. */
function isNamedAfter(file: string, id: string): boolean {
  const stem = id.toLowerCase().replace(/_?id$/, "").replace(/y$/, ""); // properties
  return stem !== "" && file.toLowerCase().includes(stem);
}
