import { useEffect } from "preact/hooks";
import type { FoundItems } from "../client/shortlist.ts";
import { ChangedItems } from "./changed-items.tsx";
import { count } from "./figures.ts";
import { FilterForm } from "./filter-form.tsx";
import { ItemLink } from "./item-link.tsx";
import { otherAttributes, rememberItems, shownValue, useSample } from "./known-items.ts";
import { useLoaded } from "./loaded.ts";
import { client, modelPath, page } from "./session.ts";
import { objectIn } from "./try-request.ts";
import { Choice, Table, TextField, WhenLoaded } from "./widgets.tsx";

type Item = FoundItems["items"][number];

const PAGE_ITEMS = 50;
/** A search begins this long after the last key press. */
const PAUSE_MS = 150;

/** The items of a model as rank calls see them. What is searched for is in the address. */
export function ItemsPage({ name, idColumn }: { name: string; idColumn: string | undefined }) {
  const { query } = page.value;
  const asked = Object.fromEntries(
    ["view", "search", "filter", "after"].map((field) => [field, query.get(field) ?? ""]),
  );
  useSample(name);
  const show = (change: Record<string, string>) => {
    const fields = Object.entries({ ...asked, offset: "", after: "", ...change }).filter(([, value]) => value !== "");
    location.replace(`#${modelPath(name, "items")}?${new URLSearchParams(fields)}`);
  };
  return (
    <div class="columns">
      <search class="controls card">
        <Choice
          label="Which items"
          value={asked.view!}
          options={[
            ["", "all"],
            ["changed", "changed or hidden"],
          ]}
          onChange={(view) => show({ view })}
        />
        {asked.view === "" && (
          <>
            <TextField
              label="Find by words"
              value={asked.search!}
              hint="In ids, titles and other texts."
              onInput={(search) => show({ search })}
            />
            <FilterForm text={asked.filter!} onChange={(filter) => show({ filter })} />
          </>
        )}
      </search>
      <section aria-labelledby="items-title">
        <h2 id="items-title">Items</h2>
        {asked.view === "" ? (
          <Found
            name={name}
            search={asked.search!}
            filter={asked.filter!}
            offset={Number(query.get("offset")) || 0}
            onPage={(offset) => show({ offset: offset > 0 ? String(offset) : "" })}
          />
        ) : (
          <ChangedItems name={name} idColumn={idColumn} after={asked.after!} onPage={(after) => show({ after })} />
        )}
      </section>
    </div>
  );
}

type Search = { readonly name: string; readonly search: string; readonly filter: string; readonly offset: number };

function Found({ name, search, filter, offset, onPage }: Search & { readonly onPage: (offset: number) => void }) {
  const retrieval = objectIn(filter);
  const found = useLoaded(
    async (signal) => {
      await new Promise((done) => setTimeout(done, PAUSE_MS));
      signal.throwIfAborted();
      return client.value.findItems(
        name,
        { limit: PAGE_ITEMS, offset, ...(search && { search }), ...(filter && retrieval && { retrieval }) },
        { signal },
      );
    },
    [name, search, retrieval && filter, offset],
  );
  const { value } = found;
  useEffect(() => {
    if (value) rememberItems(value.items);
  }, [value]);
  return (
    <WhenLoaded from={found}>
      {({ items, total }) => (
        <>
          <p class="quiet" role="status">
            {total === 0
              ? "No item is found."
              : `${count(offset + 1)} to ${count(offset + items.length)} of ${count(total)}`}
          </p>
          {items.length > 0 && <ItemTable name={name} items={items} />}
          <nav class="buttons" aria-label="Pages">
            {offset > 0 && (
              <button type="button" onClick={() => onPage(Math.max(0, offset - PAGE_ITEMS))}>
                Previous page
              </button>
            )}
            {offset + items.length < total && items.length > 0 && (
              <button type="button" onClick={() => onPage(offset + PAGE_ITEMS)}>
                Next page
              </button>
            )}
          </nav>
        </>
      )}
    </WhenLoaded>
  );
}

const ItemTable = ({ name, items }: { name: string; items: readonly Item[] }) => (
  <Table label="Items found" head={["Item", "Attributes", "State"]}>
    {items.map((item) => (
      <tr key={item.item_id}>
        <th scope="row">
          <ItemLink name={name} item={item} />
        </th>
        <td>
          <p class="chips">
            {otherAttributes(item.attributes).map(([attribute, value]) => (
              <span key={attribute}>
                {attribute} <b>{shownValue(value)}</b>
              </span>
            ))}
          </p>
        </td>
        <td>
          <ItemState item={item} />
        </td>
      </tr>
    ))}
  </Table>
);

const ItemState = ({ item }: { item: Pick<Item, "hidden" | "new" | "changed"> }) => (
  <>
    {item.hidden && <span class="badge error">hidden</span>} {item.new && <span class="badge">new</span>}{" "}
    {item.changed && <span class="quiet">changed: {item.changed.join(", ")}</span>}
  </>
);
