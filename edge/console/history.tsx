import { useSignal } from "@preact/signals";
import type { ItemId, RankedItems } from "../client/shortlist.ts";
import { ago, count, PHONE_WIDTH } from "./figures.ts";
import { type Attributes, otherAttributes, shownValue, titleOf } from "./known-items.ts";
import { Picture } from "./picture.tsx";

/** On a phone the list is below. */
const SHOWN = innerWidth > PHONE_WIDTH ? 12 : 3;
const ATTRIBUTES_SHOWN = 2;
const DAY_MS = 86_400_000;

type Entry = NonNullable<RankedItems["history"]>[number];

type Props = {
  readonly user: string;
  /** The ids of the form, the oldest first. */
  readonly session: readonly ItemId[];
  readonly ranked: RankedItems;
  readonly onSession: (session: readonly ItemId[]) => void;
};

/** What the list was computed from: the session, and what is known of the user. */
export function History({ user, session, ranked, onSession }: Props) {
  const isAll = useSignal(false);
  const { history = [], ignored_interactions, strategy } = ranked;
  const stored = history.slice(session.length - ignored_interactions);
  return (
    <aside class="history" aria-labelledby="history-title">
      <h2 id="history-title">What it is computed from</h2>
      <h3>Session</h3>
      {session.length === 0 ? (
        <p class="quiet">Empty. Add items from the list, as if the user had just chosen them.</p>
      ) : (
        <ul class="entries">
          {session.toReversed().map((id) => (
            <li key={id}>
              {titleOf(id)}
              <button
                type="button"
                class="plain"
                aria-label={`Remove from the session: ${titleOf(id)}`}
                onClick={() => onSession(session.filter((other) => other !== id))}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      {user && (
        <>
          <h3>{stored.length > 0 ? `History of ${user}: ${count(stored.length)}` : `History of ${user}`}</h3>
          {stored.length === 0 ? (
            <p class="quiet">
              {strategy === "personalized"
                ? "Empty. The list follows from the user's attributes."
                : "Empty: the model knows no choice of this user, so the list is popular items."}
            </p>
          ) : (
            <ul class="entries">
              {stored.slice(0, isAll.value ? undefined : SHOWN).map((entry, at) => (
                <HistoryEntry key={at} entry={entry} />
              ))}
            </ul>
          )}
          {stored.length > SHOWN && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                isAll.value = !isAll.value;
              }}
            >
              {isAll.value ? "Show fewer" : `Show all ${count(stored.length)}`}
            </button>
          )}
        </>
      )}
    </aside>
  );
}

function HistoryEntry({ entry: { item_id, age_days, metadata } }: { entry: Entry }) {
  const attributes: Attributes = metadata ?? {};
  const shown = otherAttributes(attributes).slice(0, ATTRIBUTES_SHOWN);
  return (
    <li>
      <Picture attributes={attributes} size={36} />
      <div>
        {titleOf(item_id)}
        <p class="quiet">
          {[ago(Date.now() - age_days * DAY_MS), ...shown.map(([, value]) => shownValue(value))].join(" · ")}
        </p>
      </div>
    </li>
  );
}
