import type { ItemId } from "../client/shortlist.ts";
import { type Attributes, titleOf } from "./known-items.ts";
import { Picture } from "./picture.tsx";
import { itemPath } from "./session.ts";

/** An item's picture, title and id, as a link to its page. */
export function ItemLink({ name, item }: { name: string; item: { item_id: ItemId; attributes: Attributes } }) {
  const title = titleOf(item.item_id, item.attributes);
  return (
    <a class="item-link" href={itemPath(name, item.item_id)}>
      <Picture attributes={item.attributes} size={40} />
      <span>
        {title}
        {title !== String(item.item_id) && <code>{item.item_id}</code>}
      </span>
    </a>
  );
}
