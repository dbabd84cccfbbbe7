declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** The customer's id of an item in canonical text form: 7 in an integer column is "7". At most 256 bytes of UTF-8. */
export type ItemId = Branded<string, "ItemId">;
/** The customer's id of a user, in the same canonical form. */
export type UserId = Branded<string, "UserId">;
/** Position of an item in one version's catalog, 0…itemCount−1. */
export type ItemIndex = Branded<number, "ItemIndex">;

/** JSON type of the source's item column, which decides how ids are written in answers. */
export type ItemIdType = "string" | "integer";

export const ID_BYTES_MAX = 256;
/** What people and programs write where there is no id. Such texts in a source are missing ids, unless the schema keeps them. */
export const NULL_WORDS = ["NULL", "null", "NaN", "N/A", "#N/A", "NA", "None", "none", "undefined", "\\N"] as const;
/** The canonical form of an integer. The regular expression means the same in RE2, which DuckDB and BigQuery use. */
export const INTEGER = /^(0|-?[1-9][0-9]*)$/;

/** The JSON form of an item id. Integers beyond 2^53−1 are sent as strings, since JSON numbers would change them. */
export function itemIdToJson(id: ItemId, type: ItemIdType): string | number {
  if (type === "string") return id;
  const value = Number(id);
  return Number.isSafeInteger(value) && String(value) === id ? value : id;
}

/** The reasons why a text cannot be an item or user id. The same rule holds for rows and requests. */
export type IdFault = "empty" | "too_long" | "has_nul" | "not_unicode";

export function idFaultOf(text: string): IdFault | undefined {
  if (text === "") return "empty";
  if (text.length > ID_BYTES_MAX || utf8BytesOf(text) > ID_BYTES_MAX) return "too_long";
  if (text.includes("\0")) return "has_nul"; // text types of databases cannot store it
  return text.isWellFormed() ? undefined : "not_unicode"; // a lone surrogate has no UTF-8 form
}

/** The number of UTF-8 bytes of a text. A lone surrogate counts 3. */
export function utf8BytesOf(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) bytes++;
    if (unit >= 0x800 && !(unit >= 0xd800 && unit < 0xe000 && isPairAt(text, i))) bytes++;
  }
  return bytes;
}

/** Whether the surrogate at i is part of a pair. A pair has 4 bytes, 2 for each unit. */
function isPairAt(text: string, i: number): boolean {
  const high = text.charCodeAt(i) < 0xdc00 ? i : i - 1;
  return (text.codePointAt(high) ?? 0) > 0xffff;
}
