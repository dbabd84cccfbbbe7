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
/** The canonical form of an integer. RE2 reads it alike. */
export const INTEGER = /^(0|-?[1-9][0-9]*)$/;

/** The JSON form of an item id. Integers beyond 2^53−1 go out as strings, since JSON numbers would change them. */
export function itemIdToJson(id: ItemId, type: ItemIdType): string | number {
  if (type === "string") return id;
  const value = Number(id);
  return Number.isSafeInteger(value) && String(value) === id ? value : id;
}

/** Why a text cannot be an item or user id; undefined when it can. Rows and requests are held to the same rule. */
export type IdFault = "empty" | "too_long" | "has_nul" | "not_unicode";

export function idFaultOf(text: string): IdFault | undefined {
  if (text === "") return "empty";
  if (text.length > ID_BYTES_MAX || utf8BytesOf(text) > ID_BYTES_MAX) return "too_long";
  if (text.includes("\0")) return "has_nul"; // no database's text type can hold it
  return text.isWellFormed() ? undefined : "not_unicode"; // a lone surrogate has no UTF-8 form
}

/** Bytes of the text in UTF-8, a lone surrogate counting 3. */
export function utf8BytesOf(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) bytes++;
    if (unit >= 0x800 && !(unit >= 0xd800 && unit < 0xe000 && isPairAt(text, i))) bytes++;
  }
  return bytes;
}

/** Whether the surrogate at i has its partner: a pair of 2 units has 4 bytes, 2 for each. */
function isPairAt(text: string, i: number): boolean {
  const high = text.charCodeAt(i) < 0xdc00 ? i : i - 1;
  return (text.codePointAt(high) ?? 0) > 0xffff;
}
