declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** The customer's id of an item, in canonical text form: an integer column's 7 is "7". At most 256 bytes of UTF-8. */
export type ItemId = Branded<string, "ItemId">;
/** The customer's id of a user, in the same canonical form. */
export type UserId = Branded<string, "UserId">;
/** Position of an item in one version's catalog, 0…itemCount−1. */
export type ItemIndex = Branded<number, "ItemIndex">;

/** JSON type of the source's item column: decides how ids look in answers. */
export type ItemIdType = "string" | "integer";

export const ID_BYTES_MAX = 256;

/** The JSON form of an item id. Integers beyond 2^53−1 go out as strings, since JSON numbers would change them. */
export function itemIdToJson(id: ItemId, type: ItemIdType): string | number {
  if (type === "string") return id;
  const value = Number(id);
  return Number.isSafeInteger(value) && String(value) === id ? value : id;
}
