import type { ItemId, RankedItems } from "../client/shortlist.ts";
import { percent } from "./figures.ts";
import { type Attributes, otherAttributes, shownValue, titleOf } from "./known-items.ts";
import { Picture } from "./picture.tsx";
import { itemPath } from "./session.ts";

type Item = RankedItems["items"][number];

type Handlers = {
  readonly model: string;
  /** Types of events that the model listens to. */
  readonly eventTypes: readonly string[];
  readonly onPick: (id: ItemId) => void;
  readonly onEvent: (id: ItemId, type: string) => void;
};

/** `from` is the place of the first item in the whole list. */
export function RankedList({ ranked, from, ...handlers }: Handlers & { ranked: RankedItems; from: number }) {
  const scores = ranked.items.map(({ score }) => score ?? 0);
  const [least, most] = [Math.min(0, ...scores), Math.max(...scores)];
  if (ranked.items.length === 0)
    return from > 1 ? (
      <p class="card">The list has no further items.</p>
    ) : (
      <p class="card">No item is left. Widen the filter, or include items that the user has seen.</p>
    );
  return (
    <ol class="ranked" start={from}>
      {ranked.items.map((item) => (
        <RankedItem
          key={item.item_id}
          item={item}
          share={((item.score ?? 0) - least) / (most - least || 1)}
          {...handlers}
        />
      ))}
    </ol>
  );
}

/** `share` is the score's part of the way from the lowest to the best one. */
function RankedItem({ model, item, share, eventTypes, onPick, onEvent }: Handlers & { item: Item; share: number }) {
  const attributes: Attributes = item.metadata ?? {};
  const title = titleOf(item.item_id);
  return (
    <li>
      <Picture attributes={attributes} size={56} />
      <div class="item">
        <div class="title">
          <strong>
            <a href={itemPath(model, item.item_id)}>{title}</a>
          </strong>
          <span class="score">
            <meter aria-label={`Score of ${title}`} value={share} />
            {item.score?.toFixed(2)}
          </span>
        </div>
        <p class="chips">
          <code>{item.item_id}</code>
          {otherAttributes(attributes).map(([name, value]) => (
            <span key={name}>
              {name} <b>{shownValue(value)}</b>
            </span>
          ))}
        </p>
        <div class="title">
          <Reasons reasons={item.reasons ?? []} />
          <div class="buttons">
            <button type="button" aria-label={`Add to session: ${title}`} onClick={() => onPick(item.item_id)}>
              Add to session
            </button>
            {eventTypes.map((type) => (
              <button
                key={type}
                type="button"
                aria-label={`Send ${type}: ${title}`}
                onClick={() => onEvent(item.item_id, type)}
              >
                Send {type}
              </button>
            ))}
          </div>
        </div>
      </div>
    </li>
  );
}

function Reasons({ reasons }: { reasons: NonNullable<Item["reasons"]> }) {
  return (
    <p class="quiet reasons">
      {reasons.length > 0 && "because of "}
      {reasons.map(({ item_id, share }) => `${titleOf(item_id)} (${percent(share)})`).join(", ")}
    </p>
  );
}
