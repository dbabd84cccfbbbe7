import { useSignal } from "@preact/signals";
import type { ModelRecord, UserEvents } from "../client/shortlist.ts";
import { ago } from "./figures.ts";
import { titleOf } from "./known-items.ts";
import { useLoaded } from "./loaded.ts";
import { client, modelPath } from "./session.ts";
import { Table, TextField, WhenLoaded } from "./widgets.tsx";

/** The recent events of a user, which every model of the customer shares. */
export function UserEventsPage({ model }: { model: ModelRecord }) {
  const typed = useSignal("");
  const user = useSignal("");
  const types = Object.keys(model.input_schema.interaction.events ?? {});
  return (
    <section>
      <h2>Events of a user</h2>
      <p>
        {types.length > 0
          ? `This model listens to ${types.join(", ")}: the next list knows them.`
          : "This model listens to no events: it learns from its sources only."}
      </p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          user.value = typed.value.trim();
        }}
      >
        <TextField
          label="User id"
          value={typed.value}
          required
          onInput={(text) => {
            typed.value = text;
          }}
        />
        <button type="submit">Show events</button>
      </form>
      {user.value && <EventsOf key={user.value} user={user.value} model={model.model_name} />}
    </section>
  );
}

function EventsOf({ user, model }: { user: string; model: string }) {
  const events = useLoaded(
    (signal) => client.value.viewUserEvents(user, { signal }),
    [user],
    () => 5000,
  );
  return (
    <WhenLoaded from={events}>
      {(loaded) => (
        <>
          <EventTable events={loaded.events} />
          <a href={`#${modelPath(model, "try")}?${new URLSearchParams({ user })}`}>The list of {user}</a>
        </>
      )}
    </WhenLoaded>
  );
}

function EventTable({ events }: { events: UserEvents["events"] }) {
  if (events.length === 0)
    return (
      <p class="card">
        No events are stored of this user. <code>POST /v0/events</code> stores them; "Try it" has buttons that send one.
      </p>
    );
  return (
    <Table label="Events" head={["When", "Type", "Item", "Value", "List"]}>
      {events.map((event) => (
        <tr key={event.event_id}>
          <td>{ago(event.created_at)}</td>
          <td>{event.type}</td>
          <td>{titleOf(event.item_id)}</td>
          <td>{event.value ?? "–"}</td>
          <td>
            <code>{event.rank_id?.slice(-18) ?? "–"}</code>
          </td>
        </tr>
      ))}
    </Table>
  );
}
