import { ago } from "./figures.ts";
import { ItemLink } from "./item-link.tsx";
import { shownValue } from "./known-items.ts";
import { useLoaded } from "./loaded.ts";
import { client } from "./session.ts";
import { Table, WhenLoaded } from "./widgets.tsx";

const PAGE_ITEMS = 50;

type Props = {
  readonly name: string;
  /** The name of the item id in filters; undefined while the trainer does not say it. */
  readonly idColumn: string | undefined;
  readonly after: string;
  readonly onPage: (after: string) => void;
};

/** What was changed since the training, in the order of item ids. */
export function ChangedItems({ name, idColumn, after, onPage }: Props) {
  const changed = useLoaded(
    (signal) => client.value.changedItems(name, { limit: PAGE_ITEMS, ...(after && { cursor: after }) }, { signal }),
    [name, after],
  );
  const ids = changed.value?.items.map(({ item_id }) => item_id) ?? [];
  const whole = useLoaded(
    async (signal) => {
      if (ids.length === 0 || idColumn === undefined) return [];
      const query = { retrieval: { [idColumn]: { $in: ids } }, limit: PAGE_ITEMS };
      return (await client.value.findItems(name, query, { signal })).items;
    },
    [name, idColumn, ids.join("\n")],
  );
  const attributesOf = new Map(whole.value?.map(({ item_id, attributes }) => [item_id, attributes]));
  return (
    <WhenLoaded from={changed}>
      {({ items, next_cursor }) => (
        <>
          {items.length === 0 ? (
            <p class="card">
              No item is changed or hidden. <code>PATCH …/items</code> changes prices or stock at once; so does an
              item's page.
            </p>
          ) : (
            <Table label="Changed items" head={["Item", "Changes", "Hidden"]}>
              {items.map(({ item_id, attributes, hidden, hidden_since }) => (
                <tr key={item_id}>
                  <th scope="row">
                    <ItemLink name={name} item={{ item_id, attributes: attributesOf.get(item_id) ?? {} }} />
                  </th>
                  <td>
                    {Object.entries(attributes).map(([attribute, { value, changed_at }]) => (
                      <p key={attribute}>
                        {attribute} {value === null ? "has no value" : shownValue(value)}{" "}
                        <span class="quiet">{ago(changed_at)}</span>
                      </p>
                    ))}
                  </td>
                  <td>{hidden ? `since ${ago(hidden_since)}` : "–"}</td>
                </tr>
              ))}
            </Table>
          )}
          <nav class="buttons" aria-label="Pages">
            {after && (
              <button type="button" onClick={() => onPage("")}>
                First page
              </button>
            )}
            {next_cursor && (
              <button type="button" onClick={() => onPage(next_cursor)}>
                Next page
              </button>
            )}
          </nav>
        </>
      )}
    </WhenLoaded>
  );
}
