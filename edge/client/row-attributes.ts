/** The attributes of `<shortlist-row>` that stand for fields of its call. */
import { ShortlistError } from "./shortlist-error.ts";

type Kind = "text" | "number" | "json" | "ids" | "interactions";

/** By attribute: the field, and how the attribute's text is read. Commas separate ids. */
export const ROW_FIELDS: Readonly<Record<string, readonly [field: string, kind: Kind]>> = {
  item: ["item_id", "text"],
  items: ["item_ids", "ids"],
  relation: ["relation", "text"],
  user: ["user_id", "text"],
  "session-id": ["session_id", "text"],
  session: ["interactions", "interactions"],
  scenario: ["scenario", "text"],
  limit: ["limit", "number"],
  strategy: ["strategy", "text"],
  seen: ["seen", "text"],
  filter: ["retrieval", "json"],
  "user-values": ["user", "json"],
  context: ["context", "json"],
};

/** Fields of calls for similar items. Either id makes a row of them. */
export const OF_SIMILAR: readonly string[] = ["item", "items", "relation"];

/** The field's value. Throws ShortlistError `invalid_attribute`. */
export function valueIn(text: string, kind: Kind, name: string): unknown {
  if (kind === "text") return text;
  if (kind === "number") return Number(text);
  if (kind === "ids" || kind === "interactions") {
    const ids = text.split(",").flatMap((id) => id.trim() || []);
    return kind === "ids" ? ids : ids.map((item_id) => ({ item_id }));
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ShortlistError("invalid_attribute", `The attribute ${name} is no JSON: ${text}`, 0, { cause });
  }
}
