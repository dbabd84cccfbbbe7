import { useEffect } from "preact/hooks";
import type { ItemChange, ShownItem } from "../client/shortlist.ts";
import { ChangeValue } from "./change-value.tsx";
import { ago, count } from "./figures.ts";
import { ItemLink } from "./item-link.tsx";
import { type Attributes, isImage, rememberItems, shownValue, titleOf } from "./known-items.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { Picture } from "./picture.tsx";
import { actionCurl, apiPath } from "./request-code.ts";
import { client, modelPath } from "./session.ts";
import { AsCurl, Problem, Table, WhenLoaded } from "./widgets.tsx";

/** One item as rank calls see it, with what can be changed. */
export function ItemPage({ name, id }: { name: string; id: string }) {
  const item = useLoaded((signal) => client.value.viewItem(name, id, { signal }), [name, id]);
  const change = useAction(async (part: Omit<ItemChange, "item_id">) => {
    await client.value.changeItems(name, [{ item_id: id, ...part }]);
    item.reload();
  });
  return (
    <section aria-labelledby="item-title">
      <p class="path">
        <a href={`#${modelPath(name, "items")}`}>All items</a>
      </p>
      <WhenLoaded from={item}>
        {(shown) => (
          <Shown name={name} item={shown} isChanging={change.isRunning} onChange={(part) => void change.run(part)}>
            <Problem error={change.error} />
          </Shown>
        )}
      </WhenLoaded>
    </section>
  );
}

type Props = {
  readonly name: string;
  readonly item: ShownItem;
  readonly isChanging: boolean;
  readonly onChange: (part: Omit<ItemChange, "item_id">) => void;
  readonly children: preact.ComponentChildren;
};

function Shown({ name, item, isChanging, onChange, children }: Props) {
  const { item_id, hidden, hidden_since, new_since, interactions, positives, similar_items } = item;
  const attributes = valuesOf(item);
  const isChanged = Object.values(item.attributes).some(({ changed_at }) => changed_at !== undefined) && !item.new;
  useEffect(() => rememberItems([{ item_id, attributes }, ...similar_items]), [item]);
  const hide = { hidden: !hidden };
  return (
    <>
      <div class="item-head">
        <Picture attributes={attributes} size={120} />
        <div>
          <h2 id="item-title">{titleOf(item_id, attributes)}</h2>
          <p>
            <code>{item_id}</code> {hidden && <span class="badge error">hidden since {ago(hidden_since)}</span>}{" "}
            {item.new && <span class="badge">new since {ago(new_since)}</span>}
          </p>
          <p class="quiet">
            {interactions === undefined
              ? "The live version was published before interactions were counted."
              : `${count(interactions)} interactions in the data of the live version, ${count(positives)} of them positive`}
          </p>
          <div class="buttons">
            <button type="button" disabled={isChanging} onClick={() => onChange(hide)}>
              {hidden ? "Show it again" : "Hide it"}
            </button>
            {isChanged && (
              <button type="button" disabled={isChanging} onClick={() => onChange({ attributes: null })}>
                Withdraw all changed values
              </button>
            )}
          </div>
          <p class="quiet">
            A hidden item is in no list, at every edge within ten seconds. Changed values hold until a training has
            newer data.
          </p>
          <AsCurl
            text={actionCurl("PATCH", `${location.origin}${apiPath(name)}/items`, { items: [{ item_id, ...hide }] })}
          />
        </div>
      </div>
      {children}
      <div class="panels">
        <section class="block" aria-labelledby="attributes-title">
          <h3 id="attributes-title">Attributes</h3>
          <AttributeTable attributes={item.attributes} />
          <ChangeValue item={item} isChanging={isChanging} onChange={(values) => onChange({ attributes: values })} />
        </section>
        <section class="block" aria-labelledby="similar-title">
          <h3 id="similar-title">Most similar items</h3>
          {similar_items.length === 0 && <p class="quiet">Nothing is known yet that other items share with it.</p>}
          <ul class="entries">
            {similar_items.map((other) => (
              <li key={other.item_id}>
                <ItemLink name={name} item={other} />
              </li>
            ))}
          </ul>
        </section>
      </div>
    </>
  );
}

/** The values that rank calls use. */
const valuesOf = ({ attributes }: ShownItem): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { value }]) => (value === null ? [] : [[name, value]])),
  );

const AttributeTable = ({ attributes }: Pick<ShownItem, "attributes">) => (
  <Table label="Attributes of the item" head={["Attribute", "Value", "In the training's data", "Changed"]}>
    {Object.entries(attributes).map(([name, { value, source, changed_at }]) => (
      <tr key={name}>
        <th scope="row">{name}</th>
        <td>{cellOf(value)}</td>
        <td>{cellOf(source)}</td>
        <td>{changed_at ? <time dateTime={changed_at}>{ago(changed_at)}</time> : "–"}</td>
      </tr>
    ))}
  </Table>
);

function cellOf(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return "–";
  return isImage(value) ? "a picture" : shownValue(value);
}
