import type { UserEvents } from "../client/shortlist.ts";
import { ago } from "./figures.ts";
import { titleOf } from "./known-items.ts";

const SHOWN = 5;

/** The newest events of the user, beside the list that they led to. */
export function LatestEvents({ events }: { events: UserEvents["events"] }) {
  if (events.length === 0) return null;
  return (
    <fieldset>
      <legend>Newest events</legend>
      <ul class="entries">
        {events.slice(0, SHOWN).map(({ event_id, type, item_id, created_at }) => (
          <li key={event_id}>
            {type} {titleOf(item_id)} <span class="quiet">{ago(created_at)}</span>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
