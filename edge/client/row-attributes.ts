/** The attributes of `<shortlist-row>` that stand for fields of its call. */
import { ShortlistError } from "./shortlist-error.ts";

type Kind = "text" | "number" | "json" | "items";

/** By attribute: the field, and how the attribute's text is read. `items` are ids that commas separate. */
export const ROW_FIELDS: Readonly<Record<string, readonly [field: string, kind: Kind]>> = {
  item: ["item_id", "text"],
  user: ["user_id", "text"],
  "session-id": ["session_id", "text"],
  session: ["interactions", "items"],
  scenario: ["scenario", "text"],
  limit: ["limit", "number"],
  strategy: ["strategy", "text"],
  seen: ["seen", "text"],
  filter: ["retrieval", "json"],
  "user-values": ["user", "json"],
  context: ["context", "json"],
};

/** The field's value. Throws ShortlistError `invalid_attribute`. */
export function valueIn(text: string, kind: Kind, name: string): unknown {
  if (kind === "text") return text;
  if (kind === "number") return Number(text);
  if (kind === "items") return text.split(",").flatMap((id) => (id.trim() ? { item_id: id.trim() } : []));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ShortlistError("invalid_attribute", `The attribute ${name} is no JSON: ${text}`, 0, { cause });
  }
}
